"""The audit's arithmetic, without Spark: summaries of tasks, folded into books, against a plain model."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.pipeline.jobs.delivery_audit import delivery_book, results
from engine.pipeline.jobs.delivery_audit.delivery_book import DeliveryBook
from engine.pipeline.jobs.delivery_audit.description import DESCRIPTION
from engine.pipeline.jobs.delivery_audit.finding_kinds import KINDS, Certainty
from engine.pipeline.jobs.delivery_audit.packed_numbers import pack, set_of, unpack
from engine.pipeline.jobs.delivery_audit.queue_segment import UNNUMBERED
from engine.pipeline.jobs.delivery_audit.results import AuditReporter, findings_of, located, wanted_places
from engine.pipeline.jobs.delivery_audit.summaries import TIME_SPANS_MAX, TopicTimes, summariser
from engine.pipeline.jobs.latency_histogram import LatencyHistogram
from engine.protocol import number_set
from engine.protocol.message.numbering_ledger import NumberingLedger
from engine.protocol.number_ranges import count_of
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import EPOCH_MS, Model, Stored, message_table
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.tiers import examples

ALL = 1 << 53
numbers = st.lists(st.integers(0, 10_000) | st.integers(0, 1 << 60))


def book_of(*batches: list[Stored], cuts: int = 1, judge_until_ms: int = ALL) -> DeliveryBook:
    """The book after these batches, each read by tasks of about ``cuts`` messages per queue."""
    book = DeliveryBook(("T",))
    table = message_table([message for batch in batches for message in batch])
    begin = 0
    for batch in batches:
        part = table.slice(begin, len(batch))
        begin += len(batch)
        book.add(summaries_of(part, cuts, judge_until_ms))
    book.settle(judge_until_ms)
    return book


def summaries_of(table: pa.Table, cuts: int, judge_until_ms: int = ALL) -> list[tuple[str, str]]:
    reported = []
    for queue in sorted(set(table["queue_id"].to_pylist())):
        of_queue = table.filter(pa.compute.equal(table["queue_id"], queue))
        for begin in range(0, of_queue.num_rows, cuts):
            batches = of_queue.slice(begin, cuts).to_batches(max_chunksize=3)
            for rows in summariser(100, judge_until_ms)(iter(batches)):
                reported += zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True)
    return reported


def verdict(book: DeliveryBook, producer: str = "p"):
    return book.producers[producer, "T"].verdict()


def in_queue(*numbers: int, queue: int = 0, producer: str | None = "p") -> list[Stored]:
    return [Stored(producer, number, queue) for number in numbers]


# --- sets, ranges, histograms -----------------------------------------------------------------------------------------


def numbers_in(made):
    return [number for first, last in made.ranges() for number in range(first, last + 1)]


@given(numbers, numbers, st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_number_set_is_a_set(one, other, first, last):
    made = set_of(np.array(one, np.int64))
    assert numbers_in(made) == sorted(set(one))
    assert numbers_in(made.below(first)) == sorted(number for number in set(one) if number < first)
    missing = [number for a, b in made.missing(first, last) for number in range(a, b + 1)]
    assert missing == [number for number in range(first, last + 1) if number not in set(one)]
    if one:
        assert made.minimum == min(one)
    again = unpack(json.loads(json.dumps(pack(made))))
    assert (numbers_in(again), again.count) == (sorted(set(one)), len(set(one)))
    rest = made.without(set_of(np.array(other, np.int64)))
    assert numbers_in(rest) == sorted(set(one) - set(other))
    assert numbers_in(again.update(set_of(np.array(other, np.int64)))) == sorted(set(one) & set(other))
    assert numbers_in(again) == sorted(set(one) | set(other))
    assert again.count == len(set(one) | set(other))


def test_a_set_without_gaps_takes_no_room_and_its_runs_are_one():
    made = set_of(np.arange(0))
    for start in (500_000, 0, 1_000_000 - 500_000 // 2, 250_000):
        made.update(set_of(np.arange(start, start + 250_000)))
    assert list(made.ranges()) == [(0, 999_999)]
    assert len(json.dumps(pack(made))) < 300
    assert list(made.missing(0, 1_000_002)) == [(1_000_000, 1_000_002)]


def test_the_saved_form_of_a_set_does_not_change():
    saved = '{"full": [[1, 2]], "chunks": [0, 5], "bits": "eAFrZBhQwNgwoNaPeMtHw3+EJwEAzb4BhA=="}'
    assert numbers_in(unpack(json.loads(saved))) == [0, 7, 1_023, 1_024, *range(4_095, 12_288), 20_480]


@given(st.lists(st.integers(-5, 50) | st.integers(0, 1 << 40), min_size=1), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_percentiles_are_exact_below_a_second_and_nearly_so_above(durations, share):
    histogram = LatencyHistogram()
    half = len(durations) // 2
    for part in (durations[:half], durations[half:]):
        other = LatencyHistogram()
        other.add(np.array(part, np.int64))
        histogram.update(LatencyHistogram.decode(json.loads(json.dumps(other.encode()))))
    ordered = sorted(max(0, duration) for duration in durations)
    exact = ordered[max(1, -(-int(share * 100) * len(ordered) // 100)) - 1]
    assert exact * (1 - 1 / 512) <= histogram.percentile(share) <= exact
    assert exact >= 1_024 or histogram.percentile(share) == exact
    assert (histogram.longest, histogram.count) == (ordered[-1], len(durations))
    assert histogram.negative == sum(duration < 0 for duration in durations)


def test_a_long_time_is_reported_in_wider_spans_and_nothing_of_it_is_dropped():
    times = TopicTimes()
    for hour in range(10):
        other = TopicTimes()
        stored_ms = EPOCH_MS + hour * 3_600_000 + np.arange(0, 3_600_000, 10_000)
        other.add(stored_ms, np.full(len(stored_ms), hour))
        times.update(TopicTimes.decode(json.loads(json.dumps(other.encode()))))
    assert len(times.spans) <= TIME_SPANS_MAX
    assert sum(span.count for span in times.spans.values()) == times.total.count == 3_600
    assert min(times.spans) * times.width_ms <= EPOCH_MS
    assert times.total.longest == 9


# --- verdicts ---------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(quick=30, full=150))
@given(
    st.lists(st.tuples(st.sampled_from(["p", "q", None]), st.integers(0, 12), st.integers(0, 2)), max_size=40),
    st.integers(1, 7),
    st.integers(1, 4),
)
def test_the_verdict_is_that_of_the_definitions_however_the_reading_is_cut(drawn, cuts, batches):
    messages = [Stored(*fields) for fields in drawn]
    size = max(1, -(-len(messages) // batches))
    book = book_of(*(messages[begin : begin + size] for begin in range(0, len(messages), size)), cuts=cuts)
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
    again = DeliveryBook.decode(json.loads(json.dumps(book.encode())), ("T",))
    assert again.encode() == book.encode()


def test_a_copy_in_another_queue_is_a_duplicate_and_neither_a_loss_nor_out_of_order():
    reported = verdict(book_of([*in_queue(0, 2, 3), *in_queue(1, 2, 4, queue=1)]))
    assert (reported.lost, reported.duplicated, reported.out_of_order) == (0, 1, 0)


def test_what_a_producer_sent_last_is_missed_only_by_its_ledger():
    book = book_of(in_queue(0, 1, 2))
    assert (verdict(book).lost, verdict(book).has_ended) == (0, False)
    book.add_ledger(NumberingLedger("p", "T", 6, refused=((3, 3),), unknown=((4, 4),)), EPOCH_MS)
    book.settle(ALL)
    reported = verdict(book)
    assert (reported.lost, reported.refused, reported.unknown, reported.has_ended, reported.numbered) == (
        1,
        1,
        1,
        True,
        6,
    )
    assert list(book.producers["p", "T"].missing.lost()) == [(5, 5)]


def test_what_the_sender_does_not_know_either_is_found_and_what_it_knows_to_be_refused_is_not():
    book = book_of(in_queue(0, 1))
    book.add_ledger(NumberingLedger("p", "T", 9, refused=((3, 3),), unknown=((1, 2), (4, 8))), EPOCH_MS)
    book.settle(ALL)
    found, _ = findings_of(book, None)
    assert [(one.kind, one.who, one.first, one.last, one.count) for one in found] == [
        ("unknown", "p", 4, 8, 5),
        ("unknown", "p", 2, 2, 1),
    ]
    assert verdict(book).findings == 6
    assert wanted_places(found) == {("p", "T"): [1, 3, 9]}
    (last, first) = located(found, {("p", "T"): {1: ["b:0 offset 1"]}})
    assert first.where["en"] == "after b:0 offset 1"
    assert last.where is None
    report = MemoryReport()
    AuditReporter(report).conclude(book, None)
    assert not any("no numbered message is lost" in note["en"] for note in report.notes)


def test_a_producer_of_whom_nothing_is_stored_is_known_by_its_ledger():
    book = book_of(in_queue(0, 1))
    book.add_ledger(NumberingLedger("q", "T", 3), EPOCH_MS)
    book.settle(ALL)
    assert verdict(book, "q").lost == 3


def test_of_a_ledger_that_is_cut_no_hole_is_called_a_loss():
    book = book_of(in_queue(0, 5))
    book.add_ledger(NumberingLedger("p", "T", 6, refused=((1, 1),), is_complete=False), EPOCH_MS)
    book.settle(ALL)
    assert (verdict(book).lost, verdict(book).refused, verdict(book).unknown) == (0, 1, 3)


def test_a_hole_is_a_loss_only_after_its_grace_and_a_late_arrival_heals_it():
    early, later = Stored("p", 2, 0, stored_ms=EPOCH_MS), Stored("p", 1, 1, stored_ms=EPOCH_MS + 90)
    book = book_of([Stored("p", 0, 0), early], judge_until_ms=0)
    book.settle(EPOCH_MS - 1)
    assert (verdict(book).lost, verdict(book).not_judged) == (0, 1)
    book.settle(EPOCH_MS)
    assert (verdict(book).lost, verdict(book).not_judged) == (1, 0)
    table = message_table([Stored("p", 0, 0), early, later]).slice(2)
    book.add(summaries_of(table, 10))
    assert (verdict(book).lost, verdict(book).stored) == (0, 3)


def test_numbers_are_judged_up_to_the_last_one_that_was_stored_long_enough_ago():
    messages = [Stored("p", number, 0, stored_ms=EPOCH_MS + number) for number in (0, 2, 4)]
    reported = verdict(book_of(messages, judge_until_ms=EPOCH_MS + 3))
    assert (reported.lost, reported.not_judged) == (1, 1)


def test_where_old_messages_are_gone_the_audit_begins_where_all_queues_have_begun():
    table = message_table([*in_queue(0, 1, 4, 6, 8), *in_queue(3, 5, 9, queue=1)])
    kept = table.filter(pa.compute.greater_equal(table["queue_offset"], 2))  # 4, 6, 8 and 9
    book = DeliveryBook(("T",))
    book.add(summaries_of(kept, 10))
    book.settle(ALL)
    assert list(book.producers["p", "T"].missing.lost()) == []
    assert verdict(book).numbered == 1


def test_the_horizon_of_a_full_batch_is_where_its_slowest_queue_has_come_to():
    messages = [Stored("p", 0, 0, stored_ms=EPOCH_MS + 900), Stored("p", 1, 1, stored_ms=EPOCH_MS + 100)]
    for read_limit, horizon_ms in ((2, 100), (3, 900)):
        book = DeliveryBook(("T",))
        book.add(summaries_of(message_table(messages), 10), read_limit)
        assert (book.newest_ms, book.horizon_ms) == (EPOCH_MS + 900, EPOCH_MS + horizon_ms)


@pytest.mark.parametrize("number", ["", "-1", "1.5", "x", "9" * 19, "１"])
def test_a_number_that_is_none_is_not_counted_as_one(number):
    message = Stored("p", 0, 0)
    message.number = number
    book = book_of([message])
    assert verdict(book, UNNUMBERED).stored == 1


def test_late_messages_are_counted_with_and_without_numbers():
    messages = [
        Stored("p", 0, 0, latency_ms=100),
        Stored("p", 1, 0, latency_ms=101),
        Stored(None, 0, 0, latency_ms=500),
    ]
    book = book_of(messages)
    assert (verdict(book).late, verdict(book, UNNUMBERED).late) == (1, 1)
    assert book.times["T"].total.longest == 500


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [100, 5, 1])
def test_numbers_that_lie_too_far_apart_are_not_kept_and_that_is_said(monkeypatch, cuts):
    """Whether one task sees too many of them, or all together have."""
    monkeypatch.setattr(number_set, "CHUNKS_MAX", 10)
    sparse = in_queue(*range(0, 10_000_000, 500_000))
    book = book_of(sparse, in_queue(0, 2, producer="q", queue=1), cuts=cuts)
    book = DeliveryBook.decode(json.loads(json.dumps(book.encode())), ("T",))
    kept = book.producers["p", "T"]
    assert (kept.numbers.count, kept.repeated, kept.descending) == (0, {}, {})
    reported = verdict(book)
    assert (reported.is_sparse, reported.lost, reported.duplicated, reported.out_of_order, reported.not_judged) == (
        True,
        0,
        0,
        0,
        20,
    )
    found, _ = findings_of(book, None)
    assert [(one.kind, one.who, one.count) for one in found] == [("lost", "q", 1), ("too sparse", "p", 20)]
    report = MemoryReport()
    AuditReporter(report).conclude(book, None)
    reported = " ".join(note["en"] for note in report.notes)
    assert "The numbers of 1 producers are too sparse to be judged (20 messages)" in reported
    assert "missing, but too recently" not in reported


def test_a_numbering_with_a_hole_everywhere_is_not_sparse(monkeypatch):
    monkeypatch.setattr(number_set, "CHUNKS_MAX", 2)
    every = np.arange(10 * 4_096)
    numbers = set_of(every[every % 4_096 != 7])
    assert not numbers.is_sparse
    assert count_of(numbers.missing(0, int(every[-1]))) == 10
    # What becomes complete does not count any more.
    sparse = set_of(every[every % 4_096 == 7])
    assert sparse.is_sparse
    sparse.update(numbers)
    assert not sparse.is_sparse
    assert len(list(sparse.ranges())) == 1


def test_of_more_producers_than_have_a_book_messages_are_counted_and_that_is_said(monkeypatch):
    for module in (delivery_book, results):
        monkeypatch.setattr(module, "PRODUCERS_MAX", 2)
    many = [one for name in "abcde" for one in in_queue(0, 2, producer=name)]
    unnumbered = in_queue(0, producer=None)
    book = book_of(many[:2], many[2:] + unnumbered, cuts=100)
    book = DeliveryBook.decode(json.loads(json.dumps(book.encode())), ("T",))
    # A ledger opens no further book, nor does a later batch.
    book.add_ledger(NumberingLedger("f", "T", 5, (), ()), EPOCH_MS)
    later = message_table(in_queue(*range(20), producer="g"))
    book.add(summaries_of(later.slice(19), 100))
    assert sorted(book.producers) == [("", "T"), ("(other producers)", "T"), ("a", "T"), ("b", "T")]
    reported = verdict(book, "(other producers)")
    assert (reported.stored, reported.lost, reported.duplicated, reported.is_numbered) == (7, 0, 0, False)
    found, _ = findings_of(book, None)
    assert [(one.kind, one.who) for one in found] == [("lost", "a"), ("lost", "b")]
    report = MemoryReport()
    AuditReporter(report).conclude(book, None)
    notes = " ".join(note["en"] for note in report.notes)
    assert "T has more than 2 producers. For the others, with 7 messages," in notes
    assert "1 messages have no number" in notes


def test_what_is_no_ledger_is_counted_and_reported():
    book = book_of(in_queue(0, 1))
    for body in (b"x", b"\xff", None):
        book.read_ledger(body, EPOCH_MS)
    book = DeliveryBook.decode(json.loads(json.dumps(book.encode())), ("T",))
    report = MemoryReport()
    AuditReporter(report).conclude(book, None)
    assert any(note["en"].startswith("3 messages of the ledger topic are not valid ledgers") for note in report.notes)
    assert not verdict(book).has_ended


def test_every_kind_of_finding_is_reported_in_both_languages():
    (table,) = [table for table in DESCRIPTION.tables if table.name == "findings"]
    assert tuple(table.columns[0].cell_texts) == KINDS
    (certainty,) = [column for column in table.columns if column.name == "certainty"]
    assert tuple(certainty.cell_texts) == tuple(Certainty)
