"""Who is judged on what: groups by name, with or without a topic, those that report, or none."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from engine.pipeline.jobs.delivery_audit import consumption_book, results
from engine.pipeline.jobs.delivery_audit.consumption_book import ConsumptionBook, GroupQueue
from engine.pipeline.jobs.delivery_audit.delivery_book import DeliveryBook
from engine.pipeline.jobs.delivery_audit.judged_groups import JudgedGroups
from engine.pipeline.jobs.delivery_audit.results import AuditReporter
from engine.pipeline.jobs.delivery_audit.saved_state import loaded, saved
from engine.protocol.number_set import NumberSet
from tests.support.pipeline.memory_report import MemoryReport


def report_of(group, topic, offsets):
    return (group, topic, NumberSet(offsets))


def book_of(named, *reports):
    """Orders and Mails of ten messages each, and what groups reported."""
    book = ConsumptionBook(JudgedGroups(named))
    book.judged = {(topic, "b:0"): NumberSet(range(10)) for topic in ("Orders", "Mails")}
    for group, topic, offsets in reports:
        if book.groups.is_judged(group, topic):
            book.queues.setdefault((group, topic), {})["b:0"] = GroupQueue(offsets)
    return book


def missing(book):
    return {key: book.missing_count(*key) for key in book.expected()}


FLAWLESS = (report_of("billing", "Orders", range(10)), report_of("mailing", "Mails", range(10)))


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (("billing@Orders", "mailing@Mails"), {("billing", "Orders"): 0, ("mailing", "Mails"): 0}),
        (("billing",), {("billing", "Orders"): 0, ("billing", "Mails"): 10}),
        (("billing", "mailing@Mails"), {("billing", "Orders"): 0, ("billing", "Mails"): 10, ("mailing", "Mails"): 0}),
        ((), {("billing", "Orders"): 0, ("mailing", "Mails"): 0}),
        (None, {}),
    ],
)
def test_a_group_is_expected_where_it_was_named(named, expected):
    assert missing(book_of(named, *FLAWLESS)) == expected


def test_of_a_group_that_is_named_with_a_topic_no_other_topic_is_judged():
    reports = (report_of("billing", "Orders", range(5, 10)), report_of("billing", "Mails", [3, 5]))
    assert missing(book_of(("billing@Orders",), *reports)) == {("billing", "Orders"): 5}
    # Nobody names it: judged from where it began.
    assert missing(book_of((), *reports)) == {("billing", "Orders"): 0, ("billing", "Mails"): 5}


def test_what_a_group_did_not_report_and_its_offset_has_passed_is_told_apart_from_what_it_did_not_consume():
    """As after a consumer's kill -9, whose last reports are lost, while its offset or the next owner went on."""
    book = book_of(("billing@Orders",), report_of("billing", "Orders", [0, 1, 2, 8]))
    key = ("billing", "Orders")
    for offset, unreported, not_consumed in (
        (0, [], [(3, 7), (9, 9)]),
        (3, [], [(3, 7), (9, 9)]),
        (5, [(3, 4)], [(5, 7), (9, 9)]),
        (10, [(3, 7), (9, 9)], []),
    ):
        book.offsets = {key: {"b:0": offset}}
        assert [numbers for _, numbers in book.unreported(*key)] == unreported
        assert [numbers for _, numbers in book.missing(*key)] == not_consumed
        assert book.unreported_count(*key) + book.missing_count(*key) == 6


def test_silence_is_reported_of_pairs_whose_topic_has_messages():
    book = book_of(("billing@Orders", "billing@Mails", "mailing", "billing@Later", "quiet"), *FLAWLESS)
    assert book.silent_groups() == ["billing@Mails", "quiet"]


def test_a_book_goes_on_with_the_groups_that_it_was_made_for():
    book = book_of(("billing@Orders",), *FLAWLESS)
    again = loaded(saved(book), ConsumptionBook)
    assert again.groups == book.groups
    assert missing(again) == {("billing", "Orders"): 0}


def calls_of(group, *, is_latency):
    """A row of one call of a group, as Spark counts it: once by queue, and once for its latency."""
    queue = dict.fromkeys(("queue", "client", "word", "ok", "twice", "failed", "first_offset"))
    if not is_latency:
        queue |= {"queue": "b:0", "word": 0, "ok": 1, "twice": 0, "failed": 0}
    rounded_ms = 40 if is_latency else None
    return Row(
        kind="called", client_group=group, topic="Orders", rounded_ms=rounded_ms, longest_ms=40, events=1, **queue
    )


@pytest.mark.parametrize("named", [(), ("group3",)])
def test_of_very_many_groups_only_some_are_kept_and_the_others_counted(monkeypatch, named):
    for module in (consumption_book, results):
        monkeypatch.setattr(module, "GROUPS_MAX", 2)
    book = ConsumptionBook(JudgedGroups(named))
    for number in range(5):
        for is_latency in (number % 2 == 0, number % 2 == 1):
            book._add_counts(calls_of(f"group{number}", is_latency=is_latency))
    kept = [("group3", "Orders")] if named else [("group0", "Orders"), ("group1", "Orders")]
    assert list(book.queues) == list(book.latency) == kept
    assert all(queues["b:0"].consumed.count == 1 for queues in book.queues.values())
    report = MemoryReport()
    AuditReporter(report).conclude(DeliveryBook(("Orders",)), loaded(saved(book), ConsumptionBook))
    others = [note for note in report.english_notes if "More than 2 groups" in note]
    assert [" 3 successful calls" in note for note in others] == ([] if named else [True])


@pytest.mark.parametrize(
    ("named", "names"),
    [((), None), (None, frozenset()), (("billing@Orders", "mailing"), frozenset({"billing", "mailing"}))],
)
def test_only_reports_of_groups_that_are_asked_for_are_read(named, names):
    assert JudgedGroups(named).names() == names
