"""What is found, and that parts say together what one reader of the whole would."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.idempotence.loss_detection import number_book, reader_report
from engine.idempotence.loss_detection.judge import judge
from engine.idempotence.loss_detection.number_book import Sighting
from engine.idempotence.loss_detection.reader_report import ReaderReport
from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY, NumberingLedger

_P = "shop@1"


def _numbered(number, producer=_P):
    return {PRODUCER_ID_PROPERTY: producer, SEQUENCE_NUMBER_PROPERTY: str(number)}


def _note(report, number, queue="B1:0", offset=None, *, at_ms=1_000, producer=_P, **more):
    place = number if offset is None else offset
    return report.note("Orders", queue, place, _numbered(number, producer), at_ms, **more)


def _report(*numbers, queue="B1:0", first_offset=0):
    report = ReaderReport()
    for at, number in enumerate(numbers):
        _note(report, number, queue, first_offset + at)
    return report


def _verdict(*reports, until_ms=1 << 53):
    (topic,) = judge(reports, until_ms)
    return topic


def _of(*reports, **more):
    (producer,) = _verdict(*reports, **more).producers
    return producer


def test_a_gap_between_met_numbers_is_lost():
    found = _of(_report(0, 1, 4, 5, 7))
    assert (found.lost, found.lost_ranges, found.numbered, found.met) == (3, ((2, 3), (6, 6)), 8, 5)


def test_numbers_in_one_queue_ascend_with_gaps_that_another_queue_fills():
    one, other = _report(0, 2, 4, queue="B1:0"), _report(1, 3, 5, queue="B1:1")
    assert _of(one).lost == 2, "alone it cannot know better: who asks must give the reports of all members"
    assert _of(one, other).lost == 0


def test_a_gap_that_the_ledger_explains_is_not_lost():
    report = _report(0, 1, 4, 5)
    report.add_ledger(NumberingLedger(_P, "Orders", 8, refused=((2, 2),), unknown=((3, 3),)), 2_000)
    found = _of(report)
    assert (found.refused, found.unknown, found.lost, found.lost_ranges) == (1, 1, 2, ((6, 7),))
    assert found.has_ended


def test_a_number_that_nobody_has_met_and_of_which_the_producer_does_not_know_is_a_finding():
    report = _report(0, 1, 4, 5)
    report.add_ledger(NumberingLedger(_P, "Orders", 9, refused=((2, 2),), unknown=((3, 4), (6, 8))), 2_000)
    found = _of(report)
    assert (found.lost, found.unknown, found.unknown_ranges, found.findings) == (0, 4, ((3, 3), (6, 8)), 4)
    verdict = _verdict(report)
    assert (verdict.lost, verdict.missing, verdict.findings, verdict.certainly_lost) == (0, 4, 4, 4)
    report.note_queue("Orders", "B1:1", 0, 3)
    assert _verdict(report).certainly_lost == 1, "three of them may be in the queue that was not read"
    refused = _report(0, 2)
    refused.add_ledger(NumberingLedger(_P, "Orders", 3, refused=((1, 1),)), 2_000)
    assert _verdict(refused).findings == 0


def test_a_ledger_that_is_not_complete_proves_no_loss():
    report = _report(0, 3)
    report.add_ledger(NumberingLedger(_P, "Orders", 4, is_complete=False), 2_000)
    assert (_of(report).lost, _of(report).unknown, _of(report).unknown_ranges) == (0, 2, ((1, 2),))
    assert _of(report).findings == 2


def test_a_gap_is_open_until_a_higher_number_has_settled():
    report = ReaderReport()
    for number, at_ms in ((0, 1_000), (3, 5_000), (9, 20_000)):
        _note(report, number, offset=number // 3, at_ms=at_ms)
    young, old = _of(report, until_ms=6_000), _of(report, until_ms=21_000)
    assert (young.lost, young.not_judged) == (2, 5)
    assert (old.lost, old.not_judged) == (7, 0)


def test_a_copy_at_another_place_is_distinguished_from_the_same_place_once_more():
    report = _report(0, 1, 2)
    assert _note(report, 1, offset=1) is Sighting.AGAIN
    assert _note(report, 1, offset=3) is Sighting.TWICE
    assert _note(report, 2, is_retry=True) is Sighting.AGAIN
    found = _of(report)
    assert (found.duplicated, found.delivered_again, found.lost, found.out_of_order) == (1, 2, 0, 0)


def test_a_number_that_only_a_retry_brought_is_not_lost():
    report = _report(0, 2)
    _note(report, 1, is_retry=True)
    assert (_of(report).lost, _of(report).duplicated) == (0, 0)


def test_a_number_behind_a_higher_one_of_its_queue_is_out_of_order():
    report = _report(0, 3, 1)
    assert _note(report, 2, offset=3) is Sighting.OUT_OF_ORDER
    assert _of(report).out_of_order == 2
    assert _of(_report(0, 2, queue="B1:0"), _report(1, 3, queue="B1:1")).out_of_order == 0


def test_a_late_copy_is_a_copy_and_not_out_of_order_whoever_met_the_first_one():
    late = _report(5, 1, queue="B1:1")
    assert _of(late).out_of_order == 1
    found = _of(late, _report(0, 1, 2, 3, 4, queue="B1:0"))
    assert (found.duplicated, found.out_of_order) == (1, 0)


def test_a_queue_whose_end_the_broker_lost_and_filled_anew():
    report = _report(0, 1, 2, 3)
    assert _note(report, 4, offset=2) is Sighting.NEW
    assert (_of(report).lost, _of(report).duplicated) == (0, 0)


def test_places_that_nobody_met_are_counted_and_may_hold_what_seems_lost():
    report = _report(0, 1)
    _note(report, 5, offset=5, end=7)
    verdict = _verdict(report)
    assert (verdict.lost, verdict.unseen, verdict.certainly_lost) == (3, 4, 0)
    other = _report(2, 3, first_offset=2)
    assert (_verdict(report, other).lost, _verdict(report, other).unseen) == (1, 2)


def test_a_queue_that_somebody_else_reads_is_unseen_once_it_is_known():
    report = _report(0, 2, 4)
    assert _verdict(report).certainly_lost == 2
    report.note_queue("Orders", "B1:0", 0, 3)
    report.note_queue("Orders", "B1:1", 0, 2)
    report.note_queue("Orders", "B1:2", 7, 7)
    assert (_verdict(report).lost, _verdict(report).unseen, _verdict(report).certainly_lost) == (2, 2, 0)


def test_a_reader_that_begins_later_judges_from_where_all_its_queues_have_begun():
    reports = _report(8, 10, 13, first_offset=100), _report(9, 11, 14, queue="B1:1", first_offset=90)
    assert (_of(*reports).lost_ranges, _of(*reports).numbered) == (((12, 12),), 6)


def test_messages_without_a_number_and_names_without_end_are_counted():
    report = ReaderReport()
    report.note("Orders", "B1:0", 0, {}, 1_000)
    for wrong in ("x", "-1", "1" * 19, "²"):
        properties = {PRODUCER_ID_PROPERTY: _P, SEQUENCE_NUMBER_PROPERTY: wrong}
        assert report.note("Orders", "B1:0", 1, properties, 1_000) is None
    assert (report.without_numbers, judge([report])) == (5, [])
    for number in range(reader_report.BOOKS_MAX + 3):
        _note(report, 0, offset=number, producer=f"p{number}")
    _note(report, 0, producer="x" * (reader_report.PRODUCER_ID_MAX + 1))
    for number in range(reader_report.QUEUES_MAX + 2):
        report.note("Orders", f"B1:{number}", 0, {}, 1_000)
    assert report.no_room == 3 + 1 + 2


def test_numbers_that_lie_far_apart_are_forgotten_and_take_no_room():
    report = ReaderReport()
    for number in range(3 * number_book.BOOK_CHUNKS_MAX):
        _note(report, number << 20, offset=number)
    (book,) = report.books.values()
    assert len(book.numbers.chunks) <= number_book.BOOK_CHUNKS_MAX
    assert _note(report, 0, offset=0) is Sighting.TOO_OLD
    found = _of(report)
    assert found.forgotten > number_book.BOOK_CHUNKS_MAX
    assert found.duplicated == 0


def test_seconds_that_are_too_long_ago_are_judged_with_later_ones():
    report = ReaderReport()
    for number in range(2 * number_book.SECONDS_MAX):
        _note(report, number, at_ms=1_000 * number)
    (book,) = report.books.values()
    assert len(book.by_second) == number_book.SECONDS_MAX
    assert book.settled(1_000 * 2 * number_book.SECONDS_MAX) == 2 * number_book.SECONDS_MAX - 1
    assert book.settled(5_000) == -1


# --- the law -------------------------------------------------------------------------------------------------------


@st.composite
def _runs(draw):
    """What is stored, and who reads which stretch of which queue, in which order: stretches may overlap."""
    queues: dict[str, list[tuple[int, str]]] = {"B1:0": [], "B1:1": [], "B2:0": []}
    for producer in ("shop@1", "shop@2"):
        for number in range(draw(st.integers(0, 30))):
            for _ in range(draw(st.sampled_from((1, 1, 1, 1, 0, 2)))):
                queue = queues[draw(st.sampled_from(tuple(queues)))]
                queue.insert(max(0, len(queue) - draw(st.sampled_from((0, 0, 0, 1, 3)))), (number, producer))
    reads = []
    for name, stored in queues.items():
        for member in range(draw(st.integers(1, 4))):
            begin = draw(st.integers(0, len(stored)))
            end = draw(st.integers(begin, len(stored)))
            reads.append((member % 3, name, begin, stored[begin:end]))
        reads.append((draw(st.integers(0, 2)), name, 0, stored))
    retried = draw(st.lists(st.sampled_from([one for queue in queues.values() for one in queue] or [(0, "x")])))
    return reads, retried


def _read(report, reads, retried):
    for _, queue, begin, stored in reads:
        for at, (number, producer) in enumerate(stored):
            _note(report, number, queue, begin + at, at_ms=1_000 * number, producer=producer)
    for number, producer in retried:
        _note(report, number, producer=producer, is_retry=True)
    return report


def _comparable(verdict):
    """But for the order, in which producers were met and in which numbers stand."""
    producers = sorted((replace(one, out_of_order=0) for one in verdict.producers), key=lambda one: one.producer)
    return verdict.topic, verdict.unseen, producers


@given(_runs(), st.integers(0, 31_000))
def test_the_parts_say_together_what_one_reader_of_the_whole_says(run, until_ms):
    reads, retried = run
    whole = _read(ReaderReport(), reads, retried)
    parts = [_read(ReaderReport(), [one for one in reads if one[0] == member], []) for member in range(3)]
    _read(parts[0], [], retried)
    parts = [ReaderReport.decode(part.encode()) for part in parts]
    assert [*map(_comparable, judge(parts, until_ms))] == [*map(_comparable, judge([whole], until_ms))]
    assert [*map(_comparable, judge(parts[::-1], until_ms))] == [*map(_comparable, judge([whole], until_ms))]


@given(_runs())
def test_no_part_claims_disorder_that_the_queues_do_not_have(run):
    reads, _ = run
    complete = [one for one in reads if one[2] == 0][::-1]
    stored = {queue: numbers for _, queue, begin, numbers in complete if begin == 0}
    for _, queue, begin, numbers in reads:
        if begin == 0 and len(numbers) > len(stored[queue]):
            stored[queue] = numbers
    true = {}
    everywhere = [one for queue in stored.values() for one in queue]
    for queue in stored.values():
        for at, (number, producer) in enumerate(queue):
            is_behind = any(other > number and name == producer for other, name in queue[:at])
            true[producer] = true.get(producer, 0) + (is_behind and everywhere.count((number, producer)) == 1)
    parts = [_read(ReaderReport(), [one for one in reads if one[0] == member], []) for member in range(3)]
    for verdict in judge(parts):
        for one in verdict.producers:
            assert one.out_of_order <= true[one.producer]
