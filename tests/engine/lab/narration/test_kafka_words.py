"""Captions of Kafka's frames, in both languages."""

from __future__ import annotations

from engine.lab.narration.narrator import Narrator
from engine.lab.run.run import LabRun
from tests.support.lab.kafka_scenarios import cluster, small
from tests.support.lab.lab_scenarios import apply


def captions(run: LabRun, until_ms: int, language: str = "en") -> list[str]:
    narrator, found = Narrator(run), []
    for time_ms in range(until_ms):
        run.run_to_time(time_ms * 1_000)
        caption = narrator.caption
        if caption is not None and caption.text[language] not in found:
            found.append(caption.text[language])
    return found


def test_who_asks_for_what_and_what_is_answered():
    slow = ("start_ms: 100\n", "start_ms: 100\n    settings: {record_duration_ms: 5}\n")
    one_queue = ('body: "body {n}"', 'body: "body {n}", queue: 0')
    with LabRun(small(slow, one_queue, ("jitter_ms: 1", "jitter_ms: 0"))) as run:
        said = captions(run, 560)
    assert "P1 asks K1 for a producer id, by which the broker detects duplicate batches." in said
    assert "C1 asks K1 for the committed offsets of group g." in said
    assert "C1 asks K1 for records: T-0 from offset 0, T-1 from offset 0." in said
    assert any(one.startswith("P1 asks K1 to append k-0") and "T-0" in one and "not compressed" in one for one in said)
    assert any(one.startswith("K1 returns k-0") and one.endswith("in batches as stored in the log.") for one in said)
    assert any(one.startswith("C1 processes k-") for one in said)


def test_the_same_in_chinese():
    with LabRun(small(("jitter_ms: 1", "jitter_ms: 0"))) as run:
        said = captions(run, 530, "zh")
    assert "P1 向 K1 申请生产者 ID：Broker 靠它认出重复到达的批次。" in said
    assert "C1 询问 K1：消费组 g 消费到了哪里？" in said
    assert any(one.startswith("P1 请 K1 把 k-0") for one in said)


def test_a_refusal_is_reported_by_kafkas_name_for_it():
    with LabRun(
        small(
            ('body: "body {n}"}', 'body: "body {n}", body_bytes: 3000}'),
            ("{role: kafka_broker}", "{role: kafka_broker, settings: {max_message_bytes: 1000}}"),
        )
    ) as run:
        assert "K1 answers P1's PRODUCE with MESSAGE_TOO_LARGE." in captions(run, 530)


def test_a_frame_that_is_lost_is_reported_as_such():
    with LabRun(small()) as run:
        run.run_to_time(480_000)
        apply(run, "drop-next", "P1->K1", frame="PRODUCE")
        narrator = Narrator(run)
        assert narrator.caption is not None
        run.run_to_time(516_000)
        assert (narrator.caption.kind, "PRODUCE" in narrator.caption.text["en"]) == ("lost", True)


def test_what_brokers_and_their_controller_say_to_each_other():
    with LabRun(cluster()) as run:
        said = captions(run, 600)
        run.run_to_time(900_000)
        apply(run, "crash", "K1")
        narrator = Narrator(run)
        for time_ms in range(900, 4_000):
            run.run_to_time(time_ms * 1_000)
            if narrator.caption is not None:
                said.append(narrator.caption.text["en"])
    assert any(one.startswith("K2 fetches from K1 what it has not replicated yet: T-0 from offset 0") for one in said)
    news = "broker 2 leads T-0 in epoch 1; in-sync replicas: 2, 3."
    assert any(one.startswith("Q notifies K") and news in one for one in said)
    assert any(one.startswith("K3 asks K2 for the end offset of its latest leader epoch") for one in said)
    assert any(one.startswith("K2 reports to K3 up to where their logs agree: T-0 at ") for one in said)
