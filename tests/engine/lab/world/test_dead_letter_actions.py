"""Dead letters that are resent by hand: who gets them, how that is marked, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from engine.broker.broker import Broker
from engine.broker.delivery.dead_letter import resent_as
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.world.administrator_actions import DeadLetterCommandRefused
from engine.protocol.message.message import MessageExt
from tests.support.lab.lab_scenarios import apply, run_to_ms

#: Two groups read Orders; shop cannot stand order-1, audit can.
TWO_GROUPS = """
title: {en: t, zh: t}
about: {en: a, zh: a}
seed: 1
duration_ms: 60000
network: {latency_ms: 1, jitter_ms: 0}
nodes:
  N1: {role: name_server}
  B1: {role: broker, settings: {messageDelayLevel: "1s 1s 1s 1s 1s"}}
  P1:
    role: producer
    group: producers
    traffic: {topic: Orders, count: 3, every_ms: 100, start_ms: 1000, key: "order-{n}", queue: 1, tag: new}
  C1:
    role: consumer
    group: shop
    topic: Orders
    start_ms: 100
    listener: {duration_ms: 5, result: throws, only_keys: [order-1]}
    settings: {maxReconsumeTimes: 1}
  C2: {role: consumer, group: audit, topic: Orders, start_ms: 100}
topics:
  Orders: {queues: 2}
"""


@pytest.fixture
def begun() -> Iterator[Callable[[int], LabRun]]:
    """``begun(ms)``: the run at that time."""
    runs: list[LabRun] = []

    def begin(time_ms: int) -> LabRun:
        runs.append(LabRun(parse_scenario(TWO_GROUPS, "two-groups")))
        return run_to_ms(runs[-1], time_ms)

    yield begin
    for run in runs:
        run.close()


def deliveries(run: LabRun, key: str, node: str) -> list[tuple[str, str]]:
    return [(e.topic, e.result) for e in run.world.history.consumes_ended if (e.key, e.node) == (key, node)]


def broker(run: LabRun) -> Broker:
    (role,) = run.world.brokers()
    assert role.broker is not None
    return role.broker


def dead_letters(run: LabRun) -> list[MessageExt]:
    return stored(run, "%DLQ%shop", 0)


def stored(run: LabRun, topic: str, queue_id: int) -> list[MessageExt]:
    store = broker(run).store
    found = (store.message_in_queue(topic, queue_id, at) for at in range(store.max_offset(topic, queue_id)))
    return [message for message in found if message is not None]


def resent(run: LabRun, dead: MessageExt) -> MessageExt | None:
    queues = [(topic, queue_id) for topic, queue_id, _ in broker(run).store.consume_queues()]
    return resent_as(dead, [copy for queue in queues for copy in stored(run, *queue)])


DIED_MS = 8_000


def test_a_dead_letter_that_goes_to_the_group_reaches_nobody_else_and_is_no_violation(begun):
    run = begun(DIED_MS)
    assert len(dead_letters(run)) == 1
    apply(run, "listener", "C1", result="success", duration_ms=5)
    apply(run, "resend-dead-letter", "B1", group="shop", message="order-1", to="group")
    run_to_ms(run, 12_000)
    assert deliveries(run, "order-1", "C1")[-1] == ("%RETRY%shop", "success")
    assert deliveries(run, "order-1", "C2") == [("Orders", "success")]
    assert len(dead_letters(run)) == 1  # the log is not rewritten
    assert not run.violations


def test_a_dead_letter_that_goes_to_its_topic_reaches_every_group_in_the_queue_it_came_from(begun):
    run = begun(DIED_MS)
    apply(run, "listener", "C1", result="success", duration_ms=5)
    apply(run, "resend-dead-letter", "B1", group="shop", message="order-1", to="topic")
    run_to_ms(run, 12_000)
    assert deliveries(run, "order-1", "C1")[-1] == ("Orders", "success")
    assert deliveries(run, "order-1", "C2") == [("Orders", "success")] * 2
    (dead,) = dead_letters(run)
    again = resent(run, dead)
    assert (again.topic, again.queue_id, again.reconsume_times, again.tags) == ("Orders", 1, 0, "new")
    assert again.unique_id == dead.unique_id
    assert again.properties["RESENT_DEAD_LETTER"] == dead.offset_message_id
    assert not {"RETRY_TOPIC", "REAL_TOPIC", "DELAY"} & set(again.properties)


def test_what_fails_again_is_retried_anew_and_dies_as_a_second_dead_letter(begun):
    run = begun(DIED_MS)
    apply(run, "resend-dead-letter", "B1", group="shop", message="order-1")
    run_to_ms(run, 20_000)
    assert [topic for topic, _ in deliveries(run, "order-1", "C1")] == ["Orders"] + ["%RETRY%shop"] * 3
    first, second = dead_letters(run)
    assert resent(run, first) is not None
    assert resent(run, second) is None
    # Its name means the newest one, which may be resent.
    assert broker(run).dead_letter_administrator.find("shop", "order-1").queue_offset == 1
    assert not run.violations


def test_a_dead_letter_is_not_resent_twice_unless_somebody_insists(begun):
    run = begun(DIED_MS)
    apply(run, "listener", "C1", result="success", duration_ms=5)
    apply(run, "resend-dead-letter", "B1", group="shop", message="order-1", to="topic")
    run_to_ms(run, 9_000)
    with pytest.raises(DeadLetterCommandRefused, match=r"already resent, as message \d+ of Orders queue 1") as caught:
        apply(run, "resend-dead-letter", "B1", group="shop", message="order-1", to="group")
    assert "已经重发过" in caught.value.text["zh"]
    apply(run, "resend-dead-letter", "B1", group="shop", message="order-1", to="group", anyway=True)
    run_to_ms(run, 12_000)
    assert [result for _, result in deliveries(run, "order-1", "C1")] == ["throws", "throws", "success", "success"]


def test_two_administrators_at_once_resend_it_once(begun):
    run = begun(DIED_MS)
    for _ in range(2):
        apply(run, "resend-dead-letter", "B1", group="shop", message="order-1")
    run_to_ms(run, 8_500)
    assert [topic for topic, _ in deliveries(run, "order-1", "C1")].count("%RETRY%shop") == 2


def test_a_run_with_a_resent_dead_letter_can_be_repeated(begun):
    run = begun(DIED_MS)
    apply(run, "resend-dead-letter", "B1", group="shop", message="order-1", to="topic")
    run_to_ms(run, 15_000)
    with LabRun.load(json.loads(json.dumps(run.export()))) as again:
        assert again.journal_hash == run.journal_hash


@pytest.mark.parametrize(
    ("target", "fields", "words"),
    [
        ("C1", {"message": "order-1"}, "applies to brokers only"),
        ("B1", {"message": "order-2"}, "group shop has no dead letter with the id or key 'order-2'"),
        ("B1", {"message": "order-1", "group": "audit"}, "group audit has no dead letter"),
        ("B1", {"message": "order-1", "to": "moon"}, "topic, group"),
        ("B1", {"message": ""}, "resend-dead-letter.message"),
    ],
)
def test_what_cannot_be_resent_is_refused_by_name_and_nothing_happens(begun, target, fields, words):
    run = begun(DIED_MS)
    end = run.world.nodes["B1"].broker.store.commit_log.max_offset
    with pytest.raises(CommandRefused) as caught:
        apply(run, "resend-dead-letter", target, **{"group": "shop", **fields})
    assert words.replace("'", "") in str(caught.value).replace("'", "")
    assert run.world.nodes["B1"].broker.store.commit_log.max_offset == end


def test_a_broker_that_flushes_synchronously_resends_too():
    text = TWO_GROUPS.replace("B1: {role: broker, ", "B1: {role: broker, flush: sync, ")
    with LabRun(parse_scenario(text, "two-groups")) as run:
        run_to_ms(run, DIED_MS)
        apply(run, "resend-dead-letter", "B1", group="shop", message="order-1", to="topic")
        run_to_ms(run, 9_000)
        (dead,) = dead_letters(run)
        assert resent(run, dead) is not None
        assert len(deliveries(run, "order-1", "C2")) == 2


def test_the_command_goes_to_the_group_unless_reported_otherwise():
    command = parse_command({"kind": "resend-dead-letter", "target": "B1", "group": "g", "message": "m"})
    assert command.value["to"] == "group"
