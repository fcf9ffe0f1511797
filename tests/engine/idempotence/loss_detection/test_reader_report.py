"""A report outlives its reader."""

from __future__ import annotations

import pytest

from engine.idempotence.loss_detection.judge import judge
from engine.idempotence.loss_detection.number_book import Sighting
from engine.idempotence.loss_detection.reader_report import ReaderReport, ReportUnreadable
from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY, NumberingLedger


def _note(report, number, offset):
    properties = {PRODUCER_ID_PROPERTY: "shop@1", SEQUENCE_NUMBER_PROPERTY: str(number)}
    return report.note("Orders", "B1:0", offset, properties, 1_000)


def test_a_reader_that_begins_again_with_its_report_goes_on_where_it_was():
    report = ReaderReport()
    for offset, number in enumerate((0, 1, 5, 4)):
        _note(report, number, offset)
    report.add_ledger(NumberingLedger("shop@1", "Orders", 9), 2_000)
    again = ReaderReport.decode(report.encode())
    assert judge([again]) == judge([report])
    assert again.encode() == report.encode()
    assert _note(again, 1, 1) is Sighting.AGAIN
    assert _note(again, 3, 4) is Sighting.OUT_OF_ORDER
    assert _note(again, 5, 5) is Sighting.TWICE


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        b'{"version":2}',
        b'{"version":1,"withoutNumbers":0,"noRoom":0,"queues":[["Orders"]],"books":[]}',
        b'{"version":1,"withoutNumbers":0,"noRoom":0,"queues":[],"books":[["Orders","p",{}]]}',
        b'{"version":1,"withoutNumbers":0,"noRoom":0,"queues":[["Orders","B:0",0,1e999,{}]],"books":[]}',
    ],
)
def test_what_is_no_report_is_refused(body):
    with pytest.raises(ReportUnreadable, match="not a report of a loss detector"):
        ReaderReport.decode(body)


def test_any_damage_to_a_report_is_refused_or_read_as_another_report():
    report = ReaderReport()
    for offset in range(50):
        _note(report, offset + offset // 7, offset)
    report.add_ledger(NumberingLedger("shop@1", "Orders", 80, refused=((60, 61),)), 2_000)
    body = report.encode()
    for at in range(len(body)):
        try:
            judge([ReaderReport.decode(body[:at] + bytes((body[at] ^ 1,)) + body[at + 1 :])])
        except ReportUnreadable:
            continue


def test_messages_without_a_gap_take_next_to_nothing():
    report = ReaderReport()
    for offset in range(50 * 1_024):
        _note(report, offset, offset)
    assert len(report.encode()) < 3_000
    assert ReaderReport.decode(report.encode()).encode() == report.encode()
