"""The audit on Spark and the detector in a consumer, a broker and the lab say the same of the same run."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.observation.stored_numbers import StoredNumbers
from engine.idempotence.loss_detection.judge import judge
from engine.idempotence.loss_detection.number_book import NumberBook
from engine.idempotence.loss_detection.reader_report import ReaderReport
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import scenario_text
from engine.lab.scenario.scenario_text import parse_scenario
from engine.pipeline.world_export import export_messages
from engine.protocol.message.missing_numbers import NumberingVerdict
from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY, NumberingLedger
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import EPOCH_MS, Stored
from tests.engine.pipeline.jobs.delivery_audit.test_delivery_book import book_of
from tests.engine.pipeline.test_world_export import audit
from tests.support.live.read_numbers import see_all

SAME = (*(one.name for one in fields(NumberingVerdict) if one.name != "producer"), "findings")


@st.composite
def _messages(draw):
    """Numbers that mostly follow each other, over three queues, stored in the order of time."""
    messages = []
    for producer in ("a", "b"):
        for number in range(draw(st.integers(1, 40))):
            for _ in range(draw(st.sampled_from((1, 1, 1, 1, 0, 2)))):
                at = max(0, len(messages) - draw(st.sampled_from((0, 0, 0, 1, 4))))
                messages.insert(at, (producer, number, draw(st.integers(0, 2))))
    return [
        Stored(producer, number, queue, stored_ms=EPOCH_MS + 1_000 * at + 999)
        for at, (producer, number, queue) in enumerate(messages)
    ]


_LEDGERS = st.none() | st.sampled_from(
    [
        NumberingLedger("a", "T", 45, refused=((3, 5), (41, 41)), unknown=((7, 7), (42, 43))),
        NumberingLedger("a", "T", 45, refused=((3, 5),), is_complete=False),
    ]
)


@given(_messages(), _LEDGERS, st.integers(0, 90))
def test_each_count_is_the_same_for_any_messages_any_ledger_and_any_moment(messages, ledger, judged):
    until_ms = EPOCH_MS + 1_000 * judged + 999
    book = book_of(messages, judge_until_ms=until_ms)
    report, offsets = ReaderReport(), [0, 0, 0]
    for one in messages:
        properties = {PRODUCER_ID_PROPERTY: one.producer, SEQUENCE_NUMBER_PROPERTY: str(one.number)}
        report.note("T", f"broker-a:{one.queue}", offsets[one.queue], properties, one.stored_ms)
        offsets[one.queue] += 1
    if ledger is not None:
        stored_ms = EPOCH_MS + 60_999
        book.add_ledger(ledger, stored_ms)
        book.settle(until_ms)
        report.add_ledger(ledger, stored_ms)
    verdicts = {one.producer: one for topic in judge([report], until_ms) for one in topic.producers}
    for (producer, _), known in book.producers.items():
        reported = known.verdict()
        for name in SAME:
            assert getattr(reported, name) == getattr(verdicts[producer], name), (producer, name)


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        # Lost, twice; without a ledger. The notes of its consumers die with the power: groups are not compared.
        ("loss-detector", {"lost": 13, "duplicated": 1, "unknown": 0, "has_ended": False}),
        # Lost, unknown, acknowledged and never consumed; with a ledger, and with notes that are all there.
        ("15-auditing-with-spark", {"lost": 6, "duplicated": 0, "unknown": 1, "has_ended": True}),
    ],
)
def test_spark_and_the_detectors_say_the_same_of_a_run(spark, tmp_path, name, harm):
    text = scenario_text(name).replace("role: consumer", "role: consumer\n    detect_loss: true")
    text = text.replace("    detect_loss: true\n    listener", "    listener")  # where it was there before
    with LabRun(parse_scenario(text, name)) as run:
        run.run_to_time(run.scenario.duration_ms * 1_000)
        export_messages(run, tmp_path / "export")
        consumers = run.world.roles(ConsumerNode)
        broker = run.world.brokers()[0].broker
        assert broker is not None
        stored = StoredNumbers(broker)
        see_all(stored)
    groups = ",".join(one.spec.group for one in consumers)
    rows = audit(spark, {"input_folder": str(tmp_path / "export"), "topics": "Orders", "groups": groups})
    (reported,), (topic,) = rows("producers"), judge([stored.report])
    (found,) = topic.producers
    assert harm.items() <= reported.items()
    for count in SAME:
        assert reported[count] == getattr(found, count), count
    assert reported["stored"] == found.met + found.duplicated
    if name == "loss-detector":
        return
    of_groups = {row["group"]: row["missing"] for row in rows("groups")}
    (book,) = stored.report.books.values()
    for consumer in consumers:
        assert of_groups[consumer.spec.group] == len(never_met(book, consumer)), consumer.name
    assert max(of_groups.values()) > 0


def never_met(book: NumberBook, consumer: ConsumerNode) -> list[int]:
    """Numbers that are stored and were never handed to its listener."""
    (met,) = consumer.loss_watch.on_arrival.report.books.values()
    return [number for number in range(book.highest + 1) if number in book.numbers and number not in met.numbers]
