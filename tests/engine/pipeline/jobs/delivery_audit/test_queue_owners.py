"""What the reports of a queue's consumers show about messages that nobody reported."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.pipeline.jobs.delivery_audit import queue_owners
from engine.pipeline.jobs.delivery_audit.consumption_book import ConsumptionBook, GroupQueue
from engine.pipeline.jobs.delivery_audit.delivery_book import DeliveryBook
from engine.pipeline.jobs.delivery_audit.finding_kinds import Certainty
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.pipeline.jobs.delivery_audit.queue_owners import QueueOwner, QueueOwners
from engine.pipeline.jobs.delivery_audit.results import findings_of, why_unreported
from engine.pipeline.jobs.delivery_audit.saved_state import loaded, saved
from engine.protocol.message.message_id import UniqueIdGenerator, client_name, client_of_unique_id
from engine.protocol.number_set import NumberSet

KEY = ("billing", "Orders")
FIRST, SECOND, THIRD = (
    client_of_unique_id(UniqueIdGenerator("127.0.0.1", process, 0xABC, lambda: 1_700_000_000_000).next())
    for process in (7, 8, 9)
)


def owners_of(*owners: tuple[str, int, int, int, int]) -> QueueOwners:
    made = QueueOwners()
    made.add(QueueOwner(*owner) for owner in owners)
    return made


def test_a_client_is_named_by_what_its_unique_ids_begin_with():
    assert client_name(FIRST) == "127.0.0.1@7#00000abc"
    assert client_name("no id") == "no id"
    ids = UniqueIdGenerator("::1", 70_000, 1, lambda: 1_700_000_000_000)
    assert client_of_unique_id(ids.next()) == client_of_unique_id(ids.next())
    assert client_name(client_of_unique_id(ids.next())) == f"::1@{70_000 % 65_536}#00000001"


@pytest.mark.parametrize(
    ("owners", "before", "after"),
    [
        ([], None, None),
        # Nobody had the queue before: the first one began in its middle.
        ([(FIRST, 8, 9, 10, 20)], None, None),
        ([(FIRST, 0, 4, 10, 20)], FIRST, None),
        ([(FIRST, 0, 4, 10, 20), (SECOND, 8, 9, 30, 40)], FIRST, SECOND),
        ([(FIRST, 0, 2, 10, 20), (SECOND, 2, 4, 30, 40), (THIRD, 8, 9, 50, 60)], SECOND, THIRD),
        # It had been there before: it is not the next one.
        ([(SECOND, 8, 9, 5, 6), (FIRST, 0, 4, 10, 20)], FIRST, None),
        ([(FIRST, 0, 4, 10, 20), (SECOND, 8, 9, 30, 40), (THIRD, 0, 1, 50, 60)], FIRST, SECOND),
    ],
)
def test_the_owners_before_and_after_an_offset_are_found(owners, before, after):
    found = [owner and owner.client for owner in owners_of(*owners).around(6)]
    assert found == [before, after]


def test_adding_an_owner_again_changes_nothing_and_few_are_kept(monkeypatch):
    monkeypatch.setattr(queue_owners, "OWNERS_MAX", 2)
    owners = owners_of((FIRST, 3, 4, 10, 20), (FIRST, 0, 4, 5, 20), (FIRST, 3, 4, 10, 20))
    assert list(owners) == [QueueOwner(FIRST, 0, 4, 5, 20)]
    owners.add([QueueOwner(SECOND, 5, 6, 30, 40), QueueOwner(THIRD, 7, 8, 50, 60)])
    assert {owner.client for owner in owners} == {SECOND, THIRD}


@pytest.mark.parametrize(
    ("owners", "last_ms", "reported"),
    [
        ([], 0, "from offset 6"),
        (
            [(FIRST, 0, 4, 10, 20)],
            20,
            (
                "from offset 6; the last report before it came from FIRST at 1970-01-01 00:00:00.020 UTC: "
                "the client may have ended without shutting down"
            ),
        ),
        ([(FIRST, 0, 9, 10, 20)], 20, "from offset 6; FIRST reported later messages, but not these"),
        (
            [(FIRST, 0, 4, 10, 20), (SECOND, 8, 9, 30, 40)],
            25,
            (
                "from offset 6; FIRST ended without shutting down, its last report is of 1970-01-01 00:00:00.025 UTC; "
                "SECOND continued at offset 8"
            ),
        ),
        (
            [(FIRST, 0, 4, 10, 20), (SECOND, 8, 9, 30, 40)],
            50,
            (
                "from offset 6; FIRST gave the queue up and still runs, but these reports of it are missing; "
                "SECOND continued at offset 8"
            ),
        ),
    ],
)
def test_what_is_missing_a_report_is_explained_by_its_owners(owners, last_ms, reported):
    text = why_unreported(6, owners_of(*owners), {FIRST: last_ms})
    names = reported.replace("FIRST", client_name(FIRST)).replace("SECOND", client_name(SECOND))
    assert text["en"] == names
    assert text["zh"] != names


def book_of(*owners: tuple[str, int, int, int, int]) -> ConsumptionBook:
    """Ten messages, of which the first three and the last were reported."""
    book = ConsumptionBook(JudgedGroups(("billing",)))
    book.judged = {(KEY[1], "b:0"): NumberSet(range(10))}
    book.queues = {KEY: {"b:0": GroupQueue(NumberSet((0, 1, 2, 9)), owners=owners_of(*owners))}}
    return book


@pytest.mark.parametrize(
    ("owners", "offset", "found"),
    [
        # The offset decides, if there is one.
        (2, 0, [("not consumed", 3, 8, Certainty.LIKELY)]),
        (1, 5, [("not consumed", 5, 8, Certainty.LIKELY), ("not reported", 3, 4, Certainty.CERTAIN)]),
        (1, 10, [("not reported", 3, 8, Certainty.CERTAIN)]),
        # Else the next owner of the queue.
        (2, None, [("not reported", 3, 8, Certainty.LIKELY)]),
        (1, None, [("not consumed", 3, 8, Certainty.POSSIBLE)]),
    ],
)
def test_offsets_and_the_next_owner_tell_a_missing_report_from_a_missing_message(owners, offset, found):
    several = [(FIRST, 0, 9 if owners == 1 else 2, 10, 20), (SECOND, 9, 9, 30, 40)]
    book = loaded(saved(book_of(*several[:owners])), ConsumptionBook)
    if offset is not None:
        book.offsets = {KEY: {"b:0": offset}}
    findings, counts = findings_of(DeliveryBook(("Orders",)), book)
    assert [(one.kind, one.first, one.last, one.certainty) for one in findings] == found
    assert {kind: messages for kind, (_, messages) in counts.items()} == {
        kind: last - first + 1 for kind, first, last, _ in found
    }
    assert all(isinstance(one.where, Mapping) for one in findings)
