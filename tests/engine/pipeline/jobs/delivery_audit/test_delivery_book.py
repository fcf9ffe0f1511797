"""The audit's arithmetic, without Spark: summaries of batches, folded into books, against a plain model."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.pipeline.jobs.delivery_audit import delivery_book, results, summaries
from engine.pipeline.jobs.delivery_audit.delivery_book import DeliveryBook
from engine.pipeline.jobs.delivery_audit.description import DESCRIPTION
from engine.pipeline.jobs.delivery_audit.finding_kinds import KINDS, Certainty
from engine.pipeline.jobs.delivery_audit.latencies import Latencies
from engine.pipeline.jobs.delivery_audit.locating import NumberPlaces
from engine.pipeline.jobs.delivery_audit.offset_sets import add_word
from engine.pipeline.jobs.delivery_audit.results import (
    AuditFinding,
    AuditReporter,
    findings_of,
    located,
    wanted_places,
)
from engine.pipeline.jobs.delivery_audit.saved_state import loaded, saved
from engine.pipeline.jobs.delivery_audit.summaries import UNNUMBERED
from engine.protocol import number_set
from engine.protocol.message.numbering_ledger import NumberingLedger
from engine.protocol.number_ranges import count_of
from engine.protocol.number_set import NumberSet
from engine.texts import Text
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import (
    ALL_TIME_MS,
    EPOCH_MS,
    Model,
    Stored,
    plain_segments,
    with_offsets,
)
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.tiers import examples

numbers = st.lists(st.integers(0, 10_000) | st.integers(0, 1 << 60))


def book_of(*batches: list[Stored], judge_until_ms: int = ALL_TIME_MS) -> DeliveryBook:
    """The book after these batches."""
    book = DeliveryBook(("T",))
    placed = with_offsets([message for batch in batches for message in batch])
    begin = 0
    for batch in batches:
        book.add(plain_segments(placed[begin : begin + len(batch)], judge_until_ms))
        begin += len(batch)
    book.settle(judge_until_ms)
    return book


def notes_on(book: DeliveryBook) -> str:
    report = MemoryReport()
    AuditReporter(report).conclude(book, None)
    return "\n".join(report.english_notes)


def verdict(book: DeliveryBook, producer: str = "p"):
    return book.producers[producer, "T"].verdict()


def in_queue(*numbers: int, queue: int = 0, producer: str | None = "p") -> list[Stored]:
    return [Stored(producer, number, queue) for number in numbers]


# --- sets, ranges, histograms -----------------------------------------------------------------------------------------


def numbers_in(made):
    return [number for first, last in made.ranges() for number in range(first, last + 1)]


def set_of(numbers) -> NumberSet:
    """As Spark hands over a set: in words of 64 bits with a sign."""
    words = Counter()
    for number in set(numbers):
        words[number >> 6] |= 1 << (number & 63)
    made = NumberSet()
    for word, bits in words.items():
        add_word(made, word, bits - (1 << 64) if bits >> 63 else bits)
    return made


@given(numbers, numbers, st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_number_set_is_a_set(one, other, first, last):
    made = set_of(one)
    assert numbers_in(made) == sorted(set(one))
    assert numbers_in(made.below(first)) == sorted(number for number in set(one) if number < first)
    missing = [number for a, b in made.missing(first, last) for number in range(a, b + 1)]
    assert missing == [number for number in range(first, last + 1) if number not in set(one)]
    if one:
        assert made.minimum == min(one)
    again = NumberSet.decode(json.loads(json.dumps(made.encode())))
    assert (numbers_in(again), again.count) == (sorted(set(one)), len(set(one)))
    rest = made.without(set_of(other))
    assert numbers_in(rest) == sorted(set(one) - set(other))
    assert numbers_in(again.update(set_of(other))) == sorted(set(one) & set(other))
    assert numbers_in(again) == sorted(set(one) | set(other))
    assert again.count == len(set(one) | set(other))


def test_the_runs_of_a_set_without_gaps_are_one():
    made = NumberSet()
    for start in (500_000, 0, 1_000_000 - 500_000 // 2, 250_000):
        made.update(set_of(range(start, start + 250_000)))
    assert list(made.ranges()) == [(0, 999_999)]
    assert list(made.missing(0, 1_000_002)) == [(1_000_000, 1_000_002)]


@given(st.lists(st.integers(0, 50) | st.integers(0, 1 << 40), min_size=1), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_percentiles_are_those_of_the_rounded_durations(durations, share):
    latencies = Latencies()
    half = len(durations) // 2
    for part in (durations[:half], durations[half:]):
        other = Latencies()
        for duration, count in Counter(part).items():
            other.add(duration, count, duration)
        latencies.update(loaded(saved(other), Latencies))
    ordered = sorted(durations)
    exact = ordered[max(1, math.ceil(share * len(ordered) - 1e-9)) - 1]
    assert latencies.percentiles((share, 1.0)) == [exact, ordered[-1]]
    assert (latencies.longest, latencies.count) == (ordered[-1], len(durations))


# --- verdicts ---------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(quick=30, full=150))
@given(
    st.lists(st.tuples(st.sampled_from(["p", "q", None]), st.integers(0, 12), st.integers(0, 2)), max_size=40),
    st.integers(1, 4),
)
def test_the_verdict_is_that_of_the_definitions_however_the_reading_is_cut(drawn, batches):
    messages = [Stored(*fields) for fields in drawn]
    size = max(1, -(-len(messages) // batches))
    book = book_of(*(messages[begin : begin + size] for begin in range(0, len(messages), size)))
    model = Model.of(messages)
    for (producer, _), of_producer in book.producers.items():
        if producer == UNNUMBERED:
            assert of_producer.verdict().stored == sum(message.producer is None for message in messages)
            continue
        reported = of_producer.verdict()
        lost = [number for first, last in of_producer.missing.lost() for number in range(first, last + 1)]
        assert lost == model.lost[producer]
        assert reported.lost == len(lost)
        assert reported.duplicated == model.duplicated[producer]
        found = [number for _, numbers in of_producer.out_of_order() for number in numbers_in(numbers)]
        assert sorted(found) == sorted(model.out_of_order[producer])
        assert reported.stored == sum(message.producer == producer for message in messages)
    assert saved(loaded(saved(book), DeliveryBook)) == saved(book)


def test_a_copy_in_another_queue_is_a_duplicate_and_neither_a_loss_nor_out_of_order():
    reported = verdict(book_of([*in_queue(0, 2, 3), *in_queue(1, 2, 4, queue=1)]))
    assert (reported.lost, reported.duplicated, reported.out_of_order) == (0, 1, 0)


def test_what_a_producer_sent_last_is_missed_only_by_its_ledger():
    book = book_of(in_queue(0, 1, 2))
    assert (verdict(book).lost, verdict(book).has_ended) == (0, False)
    book.add_ledger(NumberingLedger("p", "T", 6, refused=((3, 3),), unknown=((4, 4),)), EPOCH_MS)
    book.settle(ALL_TIME_MS)
    reported = verdict(book)
    assert (reported.lost, reported.refused, reported.unknown) == (1, 1, 1)
    assert (reported.has_ended, reported.numbered) == (True, 6)
    assert list(book.producers["p", "T"].missing.lost()) == [(5, 5)]


def test_what_the_sender_does_not_know_either_is_found_and_what_it_knows_to_be_refused_is_not():
    book = book_of(in_queue(0, 1))
    book.add_ledger(NumberingLedger("p", "T", 9, refused=((3, 3),), unknown=((1, 2), (4, 8))), EPOCH_MS)
    book.settle(ALL_TIME_MS)
    found, _ = findings_of(book, None)
    assert [(one.kind, one.who, one.first, one.last, one.count) for one in found] == [
        ("unknown", "p", 4, 8, 5),
        ("unknown", "p", 2, 2, 1),
    ]
    assert verdict(book).findings == 6
    assert wanted_places(found) == {("p", "T"): [1, 3, 9]}
    (last, first) = located(found, {("p", "T"): {1: NumberPlaces(1, [Text("job.where.place", queue="b:0", offset=1)])}})
    assert first.where["en"] == "after b:0 offset 1"
    assert last.where is None
    assert "no numbered message is lost" not in notes_on(book)


@pytest.mark.parametrize(
    ("kind", "places", "where"),
    [
        ("duplicated", (1, True), "b:0 offset 1"),
        ("duplicated", (1, False), "b:0 offset 1; perhaps more"),
        ("duplicated", (0, False), ""),
        # It is stored once.
        ("out of order", (1, False), "b:0 offset 1"),
    ],
)
def test_places_of_a_duplicate_that_may_not_be_all_are_called_so(kind, places, where):
    total, are_all = places
    finding = AuditFinding(kind, "T", "p", "b:0", 1, 1, 1, Certainty.CERTAIN)
    found = NumberPlaces(total, [Text("job.where.place", queue="b:0", offset=1)][:total], are_all)
    (one,) = located([finding], {("p", "T"): {1: found}})
    assert one.where["en"] == where


def test_a_producer_of_whom_nothing_is_stored_is_known_by_its_ledger():
    book = book_of(in_queue(0, 1))
    book.add_ledger(NumberingLedger("q", "T", 3), EPOCH_MS)
    book.settle(ALL_TIME_MS)
    assert verdict(book, "q").lost == 3


def test_of_a_ledger_that_is_cut_no_hole_is_called_a_loss():
    book = book_of(in_queue(0, 5))
    book.add_ledger(NumberingLedger("p", "T", 6, refused=((1, 1),), is_complete=False), EPOCH_MS)
    book.settle(ALL_TIME_MS)
    assert (verdict(book).lost, verdict(book).refused, verdict(book).unknown) == (0, 1, 3)


def test_a_hole_is_a_loss_only_after_its_grace_and_a_late_arrival_heals_it():
    early, later = Stored("p", 2, 0, stored_ms=EPOCH_MS), Stored("p", 1, 1, stored_ms=EPOCH_MS + 90)
    book = book_of([Stored("p", 0, 0), early], judge_until_ms=0)
    book.settle(EPOCH_MS - 1)
    assert (verdict(book).lost, verdict(book).not_judged) == (0, 1)
    book.settle(EPOCH_MS)
    assert (verdict(book).lost, verdict(book).not_judged) == (1, 0)
    book.add(plain_segments([(0, later)]))
    assert (verdict(book).lost, verdict(book).stored) == (0, 3)


def test_numbers_are_judged_up_to_the_last_one_that_was_stored_long_enough_ago():
    messages = [Stored("p", number, 0, stored_ms=EPOCH_MS + number) for number in (0, 2, 4)]
    reported = verdict(book_of(messages, judge_until_ms=EPOCH_MS + 3))
    assert (reported.lost, reported.not_judged) == (1, 1)


def test_where_old_messages_are_gone_the_audit_begins_where_all_queues_have_begun():
    placed = with_offsets([*in_queue(0, 1, 4, 6, 8), *in_queue(3, 5, 9, queue=1)])
    kept = [(offset, message) for offset, message in placed if offset >= 2]  # 4, 6, 8 and 9
    book = DeliveryBook(("T",))
    book.add(plain_segments(kept))
    book.settle(ALL_TIME_MS)
    assert list(book.producers["p", "T"].missing.lost()) == []
    assert verdict(book).numbered == 1


def test_the_horizon_of_a_full_batch_is_where_its_slowest_queue_has_come_to():
    messages = [Stored("p", 0, 0, stored_ms=EPOCH_MS + 900), Stored("p", 1, 1, stored_ms=EPOCH_MS + 100)]
    for read_limit, horizon_ms in ((2, 100), (3, 900)):
        book = DeliveryBook(("T",))
        book.add(plain_segments(with_offsets(messages)), read_limit)
        assert (book.newest_ms, book.horizon_ms) == (EPOCH_MS + 900, EPOCH_MS + horizon_ms)


def test_late_messages_are_counted_with_and_without_numbers():
    messages = [
        Stored("p", 0, 0, latency_ms=100),
        Stored("p", 1, 0, latency_ms=101),
        Stored(None, 0, 0, latency_ms=500),
    ]
    book = book_of(messages)
    assert (verdict(book).late, verdict(book, UNNUMBERED).late) == (1, 1)


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [20, 5, 1])
def test_numbers_that_lie_too_far_apart_are_not_kept_and_that_is_said(monkeypatch, size):
    """Whether one batch has too many of them, or all together have."""
    monkeypatch.setattr(number_set, "CHUNKS_MAX", 10)
    sparse = in_queue(*range(0, 10_000_000, 500_000))
    batches = [sparse[begin : begin + size] for begin in range(0, 20, size)]
    book = book_of(*batches, in_queue(0, 2, producer="q", queue=1))
    book = loaded(saved(book), DeliveryBook)
    kept = book.producers["p", "T"]
    assert (kept.numbers.count, kept.repeated, kept.descending) == (0, {}, {})
    reported = verdict(book)
    assert (reported.is_sparse, reported.not_judged) == (True, 20)
    assert (reported.lost, reported.duplicated, reported.out_of_order) == (0, 0, 0)
    found, _ = findings_of(book, None)
    assert [(one.kind, one.who, one.count) for one in found] == [("lost", "q", 1), ("too sparse", "p", 20)]
    reported = notes_on(book)
    assert "The numbers of 1 producers are too sparse to be judged (20 messages)" in reported
    assert "missing, but too recently" not in reported


def test_numbers_that_lie_too_far_apart_are_dropped_while_they_are_read(monkeypatch):
    monkeypatch.setattr(number_set, "CHUNKS_MAX", 10)
    monkeypatch.setattr(summaries, "_WORDS_PER_CHECK", 1)
    (segment,) = plain_segments([(0, Stored("p", 0, 0))])
    for word in range(0, 20 * 1_000, 1_000):
        segment.add_words(word, 1, 1, None)
        assert len(segment.numbers.chunks) <= number_set.CHUNKS_MAX
    assert segment.is_sparse
    assert (segment.numbers.count, segment.repeated.count) == (0, 0)


def test_a_numbering_with_a_hole_everywhere_is_not_sparse(monkeypatch):
    monkeypatch.setattr(number_set, "CHUNKS_MAX", 2)
    every = range(10 * 4_096)
    numbers = set_of(number for number in every if number % 4_096 != 7)
    assert not numbers.is_sparse
    assert count_of(numbers.missing(0, every[-1])) == 10
    # What becomes complete does not count any more.
    sparse = set_of(every[7::4_096])
    assert sparse.is_sparse
    sparse.update(numbers)
    assert not sparse.is_sparse
    assert len(list(sparse.ranges())) == 1


def test_of_more_producers_than_have_a_book_messages_are_counted_and_that_is_said(monkeypatch):
    for module in (delivery_book, results):
        monkeypatch.setattr(module, "PRODUCERS_MAX", 2)
    many = [one for name in "abcde" for one in in_queue(0, 2, producer=name)]
    unnumbered = in_queue(0, producer=None)
    book = book_of(many[:2], many[2:] + unnumbered)
    book = loaded(saved(book), DeliveryBook)
    # A ledger opens no further book, nor does a later batch.
    book.add_ledger(NumberingLedger("f", "T", 5, (), ()), EPOCH_MS)
    book.add(plain_segments([(19, Stored("g", 19, 0))]))
    assert sorted(book.producers) == [("", "T"), ("(other producers)", "T"), ("a", "T"), ("b", "T")]
    reported = verdict(book, "(other producers)")
    assert (reported.stored, reported.lost, reported.duplicated, reported.is_numbered) == (7, 0, 0, False)
    found, _ = findings_of(book, None)
    assert [(one.kind, one.who) for one in found] == [("lost", "a"), ("lost", "b")]
    notes = notes_on(book)
    assert "T has more than 2 producers. For the others, with 7 messages," in notes
    assert "1 messages have no number" in notes


def test_what_is_no_ledger_is_counted_and_reported():
    book = book_of(in_queue(0, 1))
    for body in (b"x", b"\xff", b""):
        book.read_ledger(body, EPOCH_MS)
    book = loaded(saved(book), DeliveryBook)
    assert "3 messages of the ledger topic are not valid ledgers" in notes_on(book)
    assert not verdict(book).has_ended


def test_every_kind_of_finding_is_reported_in_both_languages():
    (table,) = [table for table in DESCRIPTION.tables if table.name == "findings"]
    assert tuple(table.columns[0].cell_texts) == KINDS
    (certainty,) = [column for column in table.columns if column.name == "certainty"]
    assert tuple(certainty.cell_texts) == tuple(Certainty)
