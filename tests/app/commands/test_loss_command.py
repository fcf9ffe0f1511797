"""``glassmq consume --detect-loss`` and ``glassmq loss`` against a live broker."""

from __future__ import annotations

import asyncio
import time
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.messages import loss
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.idempotence.loss_detection import judge
from engine.idempotence.loss_detection.judge import ProducerVerdict
from engine.idempotence.loss_detection.reader_report import ReaderReport
from engine.protocol.message.message import Message
from engine.protocol.message.numbering_ledger import (
    PRODUCER_ID_PROPERTY,
    SEQUENCE_NUMBER_PROPERTY,
    NumberingLedger,
)
from tests.support.live.live_server import LiveServer

LONG_AGO_MS = 1_000


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("data"), page=False, allow_faults=True) as server:
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
    assert row.split()[2:5] == ["yes", "0-9", "10"], then.output
    assert "may hold what is missing" not in then.output
    (book,) = ReaderReport.decode((tmp_path / "one.json").read_bytes()).books.values()
    assert book.ledger is not None
    assert (book.numbers.count, book.ledger.numbered) == (10, 10)


def test_a_copy_and_a_number_behind_a_higher_one_are_said_at_once(live):
    live.create_topic("Crooked", queues=1)
    numbered = [{PRODUCER_ID_PROPERTY: "shop@1", SEQUENCE_NUMBER_PROPERTY: str(number)} for number in (0, 2, 1, 2)]
    live.send(*[Message("Crooked", b"x", properties=properties) for properties in numbered])
    done = live.tool("consume", "Crooked", "--group", "audit", "--count", "4", "--detect-loss")
    assert "number 1 of shop@1 comes after a higher one: queue 0 offset 2" in done.stderr
    assert "number 2 of shop@1 is stored twice: queue 0 offset 3" in done.stderr
    assert done.exit_code == 1


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
        assert f"--detect-loss excludes {more[0]}: messages that a filter leaves out would seem lost" in refused.output


def test_reports_are_put_together(tmp_path):
    one = report_of(tmp_path / "one.json", 0, 2, 4, 9)
    two = report_of(tmp_path / "two.json", 1, 5, 3, 4, queue="B1:1")
    done = run(one, two)
    assert done.exit_code == 1
    (row,) = [line for line in done.output.splitlines() if line.startswith("Orders ")]
    assert row.split() == ["Orders", "shop@1", "no", "0-9", "7", "3", "6-8", "0", "0", "0", "1", "1", "0"]
    assert run(report_of(tmp_path / "whole.json", *range(5))).exit_code == 0


def with_ledger(file, *numbers, stored_ms=LONG_AGO_MS, **reported):
    report = ReaderReport.decode(Path(report_of(file, *numbers)).read_bytes())
    report.add_ledger(NumberingLedger("shop@1", "Orders", **reported), stored_ms)
    file.write_bytes(report.encode())
    return str(file)


@pytest.mark.parametrize(
    ("reported", "row", "exit_code"),
    [
        # missing, which, unknown, which, refused, open
        ({"numbered": 5, "unknown": ((2, 2),)}, ["0", "1", "2", "0", "0"], 1),
        ({"numbered": 9, "unknown": ((2, 2), (5, 8))}, ["0", "5", "2", "5-8", "0", "0"], 1),
        ({"numbered": 6, "unknown": ((2, 2),)}, ["1", "5", "1", "2", "0", "0"], 1),
        ({"numbered": 5, "refused": ((2, 2),)}, ["0", "0", "1", "0"], 0),
        ({"numbered": 5, "is_complete": False}, ["0", "1", "2", "0", "0"], 1),
        # Met after all.
        ({"numbered": 5, "unknown": ((3, 3),), "refused": ((2, 2),)}, ["0", "0", "1", "0"], 0),
    ],
)
def test_what_was_never_met_and_the_producer_does_not_know_either_is_shown_and_no_success(
    tmp_path, reported, row, exit_code
):
    done = run(with_ledger(tmp_path / "one.json", 0, 1, 3, 4, **reported))
    (line,) = [line for line in done.output.splitlines() if line.startswith("Orders ")]
    assert line.split()[5:-3] == row
    assert done.exit_code == exit_code
    assert ("unknown: in no report" in done.output) == (exit_code == 1)


def test_what_is_open_for_good_is_no_success_and_what_a_producer_may_still_send_is(tmp_path):
    young_ms = round(time.time() * 1_000) + 3_600_000
    ended = with_ledger(tmp_path / "ended.json", 0, 2, numbered=4, unknown=((1, 1), (3, 3)), stored_ms=young_ms)
    done = run(ended)
    assert "Orders: 1 open: " in done.output
    assert done.exit_code == 1
    report = ReaderReport.decode(Path(report_of(tmp_path / "lives.json", 0)).read_bytes())
    properties = {PRODUCER_ID_PROPERTY: "shop@1", SEQUENCE_NUMBER_PROPERTY: "2"}
    report.note("Orders", "B1:0", 1, properties, young_ms)
    (tmp_path / "lives.json").write_bytes(report.encode())
    done = run(str(tmp_path / "lives.json"))
    assert "Orders: 1 open: " in done.output
    assert done.exit_code == 0


def test_every_count_of_a_producer_is_printed(monkeypatch, capsys):
    names = [one.name for one in fields(ProducerVerdict) if one.type == "int"]
    assert {"lost", "unknown", "refused", "not_judged", "forgotten"} <= set(names)
    counts = {name: 1_000_003 * place for place, name in enumerate(names, 1)}
    verdict = ProducerVerdict(producer="p", lost_ranges=(), unknown_ranges=(), has_ended=True, **counts)
    monkeypatch.setattr(judge, "judge", lambda *_: [judge.TopicVerdict("T", (verdict,), unseen=77_003)])
    loss.print_report([])
    printed = capsys.readouterr().out.replace(",", "")
    counts["numbered"] += counts["first"] - 1  # as a range
    assert [name for name, count in counts.items() if str(count) not in printed] == []
    assert "77003" in printed


def test_a_oneway_send_that_was_dropped_is_found_by_its_reader(live, tmp_path, monkeypatch):
    monkeypatch.setattr(judge, "SETTLING_MS", -60_000)
    live.create_topic("Quick", queues=2)
    asyncio.run(send_and_drop(live))
    file = str(tmp_path / "quick.json")
    done = live.tool("consume", "Quick", "--group", "audit", "--count", "4", "--loss-report", file)
    (row,) = [line for line in done.output.splitlines() if line.startswith("Quick ")]
    assert row.split()[2:] == ["yes", "0-5", "4", "0", "2", "2", "5", "0", "0", "0", "0", "0"], done.output
    assert done.exit_code == 1
    assert run(file).exit_code == 1


async def send_and_drop(live):
    """Send six numbered messages: the third one and the last one are dropped on their way, without a report."""
    async with DefaultMQProducer(None, "shop", live.name_servers, number_messages=True) as producer:
        for number in range(6):
            if number in (2, 5):
                live.break_it("fault", what="drop", frame="SEND_MESSAGE_V2", times=1)
                await producer.send_oneway(Message("Quick", b"x"))
            else:
                await producer.send(Message("Quick", b"x"))


def test_a_member_that_leaves_messages_unread_finds_nothing_that_they_may_hold(live, monkeypatch):
    monkeypatch.setattr(judge, "SETTLING_MS", -60_000)
    live.create_topic("Halves", queues=1)
    assert live.tool("send", "Halves", "order {n}", "--count", "6", "--number").exit_code == 0
    done = live.tool("consume", "Halves", "--group", "audit", "--count", "2", "--detect-loss")
    assert "4 messages of Halves are in none of these reports" in done.output
    assert "at least 0 are lost" in done.output
    assert done.exit_code == 0


def test_what_no_report_holds_is_reported_next_to_what_is_missing(tmp_path):
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
