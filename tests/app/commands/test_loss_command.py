"""``glassmq consume --detect-loss`` and ``glassmq loss`` against a live broker."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.idempotence.loss_detection.reader_report import ReaderReport
from engine.protocol.message.message import Message
from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY
from tests.support.live.live_server import LiveServer

LONG_AGO_MS = 1_000


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("data"), page=False) as server:
        yield server


def run(*files):
    return CliRunner().invoke(main, ["loss", *files], prog_name="glassmq")


def report_of(file, *numbers, queue="B1:0", first_offset=0):
    report = ReaderReport()
    for at, number in enumerate(numbers):
        properties = {PRODUCER_ID_PROPERTY: "shop@1", SEQUENCE_NUMBER_PROPERTY: str(number)}
        report.note("Orders", queue, first_offset + at, properties, LONG_AGO_MS)
    file.write_bytes(report.encode())
    return str(file)


def test_a_member_says_at_its_end_what_it_met_and_goes_on_with_its_report(live, tmp_path):
    live.create_topic("Whole", queues=2)
    assert live.tool("send", "Whole", "order {n}", "--count", "10", "--number").exit_code == 0
    file = str(tmp_path / "one.json")
    first = live.tool("consume", "Whole", "--group", "audit", "--count", "4", "--loss-report", file)
    assert first.exit_code == 0, first.output
    assert ReaderReport.decode((tmp_path / "one.json").read_bytes()).books
    then = live.tool("consume", "Whole", "--group", "audit", "--count", "6", "--loss-report", file)
    (row,) = [line for line in then.output.splitlines() if line.startswith("Whole ")]
    assert row.split()[2:5] == ["0-9", "10", "0"], then.output
    assert "may hold what is missing" not in then.output
    (book,) = ReaderReport.decode((tmp_path / "one.json").read_bytes()).books.values()
    assert book.ledger is not None
    assert (book.numbers.count, book.ledger.numbered) == (10, 10)


def test_a_copy_and_a_number_behind_a_higher_one_are_said_at_once(live):
    live.create_topic("Crooked", queues=1)
    numbered = [{PRODUCER_ID_PROPERTY: "shop@1", SEQUENCE_NUMBER_PROPERTY: str(number)} for number in (0, 2, 1, 2)]
    live.send(*[Message("Crooked", b"x", properties=properties) for properties in numbered])
    done = live.tool("consume", "Crooked", "--group", "audit", "--count", "4", "--detect-loss")
    assert "number 1 of shop@1 stands behind a higher one: queue 0 offset 2" in done.stderr
    assert "number 2 of shop@1 is stored twice: queue 0 offset 3" in done.stderr


def test_without_numbers_it_says_how_to_get_them(live):
    live.create_topic("Plain", queues=1)
    live.send(Message("Plain", b"x"))
    done = live.tool("consume", "Plain", "--group", "audit", "--count", "1", "--detect-loss")
    assert done.exit_code == 0
    assert "glassmq send --number" in done.output


def test_a_filter_and_the_detector_exclude_each_other(live):
    for more in (["--expression", "paid"], ["--sql", "age > 5"]):
        refused = live.tool("consume", "Plain", "--group", "audit", "--detect-loss", *more)
        assert refused.exit_code == 2
        assert "needs all messages" in refused.output


def test_reports_are_put_together(tmp_path):
    one = report_of(tmp_path / "one.json", 0, 2, 4, 9)
    two = report_of(tmp_path / "two.json", 1, 5, 3, 4, queue="B1:1")
    done = run(one, two)
    assert done.exit_code == 1
    (row,) = [line for line in done.output.splitlines() if line.startswith("Orders ")]
    assert row.split() == ["Orders", "shop@1", "0-9", "7", "3", "6-8", "0", "1", "1", "0"]
    assert run(report_of(tmp_path / "whole.json", *range(5))).exit_code == 0


def test_what_no_report_holds_is_told_beside_what_is_missing(tmp_path):
    file = tmp_path / "one.json"
    report_of(file, 0, 9)
    report = ReaderReport.decode(file.read_bytes())
    report.note_queue("Orders", "B1:1", 0, 3)
    file.write_bytes(report.encode())
    done = run(str(file))
    assert "3 messages of Orders are in none of these reports" in done.output
    assert "at least 5 are lost" in done.output


def test_a_name_that_a_terminal_would_obey_is_shown_as_it_is_written(tmp_path):
    file = tmp_path / "one.json"
    report = ReaderReport()
    properties = {PRODUCER_ID_PROPERTY: "p\x1b[31m\nfake", SEQUENCE_NUMBER_PROPERTY: "5"}
    report.note("T\x1b[0m", "B1:0", 0, properties, LONG_AGO_MS)
    report.note("T\x1b[0m", "B1:0", 1, properties | {SEQUENCE_NUMBER_PROPERTY: "7"}, LONG_AGO_MS)
    report.note_queue("T\x1b[0m", "B1:1", 0, 1)
    file.write_bytes(report.encode())
    output = run(str(file)).output
    assert r"p\x1b[31m\nfake" in output
    assert "may hold what is missing" in output
    assert output.replace("\n", "").isprintable()


@pytest.mark.parametrize("content", [None, b"", b"{}"])
def test_a_file_that_is_no_report_is_named(tmp_path, content):
    file = tmp_path / "wrong.json"
    if content is not None:
        file.write_bytes(content)
    done = run(str(file))
    assert done.exit_code == 1
    assert str(file) in done.output
