"""Why a message is stored in two places: which client stored which copy, and when."""

from engine.lab.why.answer import WhyQuestion
from tests.engine.lab.why.asking import TimedActions, asked, keys_of

TWO_BROKERS = """
title: {en: Two brokers, zh: 两个 Broker}
about: {en: One producer may use either., zh: 生产者可用其中任意一个。}
seed: 1
duration_ms: 40000
network: {latency_ms: 2, jitter_ms: 0}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  B2: {role: broker}
  P1:
    role: producer
    group: shop-producers
    traffic: {topic: Orders, count: 12, every_ms: 200, start_ms: 2000, key: "order-{n}", body: "order {n}"}
  C1: {role: consumer, group: shop, topic: Orders, start_ms: 100}
topics:
  Orders: {queues: 1}
"""


CONSUMER_CUT_OFF: TimedActions = (
    (35_996, (("kind", "crash"), ("target", "B1"))),
    (37_996, (("kind", "restart"), ("target", "B1"))),
    (45_697, (("kind", "kill-consumer"), ("target", "C2"))),
    (58_514, (("kind", "partition"), ("left", ("C1",)), ("right", ("B1",)))),
    (70_697, (("kind", "start-consumer"), ("target", "C2"))),
    (123_514, (("kind", "heal"),)),
)


def test_a_copy_in_another_groups_topic_is_a_message_of_its_own():
    answer = asked("moved-aside", "event-42", WhyQuestion.LATE, "night-shift")
    sending = [step for step in answer.steps if step.text.arguments["reason"].key == "why.late.sending"]
    assert [step.node for step in sending] == ["C1"], "who moved it, not who sent it first"
    assert sum(step.span_us for step in answer.steps) < 1_000_000


def test_who_was_cut_off_and_kept_its_queue_gets_what_the_next_owner_has_consumed():
    answer = asked("general", "late-1", WhyQuestion.TWICE, actions=CONSUMER_CUT_OFF)
    assert answer.cause == "kept-queue"
    assert (answer.verdict.arguments["first"], answer.verdict.arguments["second"]) == ("C2", "C1")
    assert keys_of(answer.steps)[:4] == ["takes_over", "cut", "takes_over", "began"]


def test_of_two_brokers_the_one_that_stored_first_is_named():
    """B1 has stored it and dies without an answer; the producer asks B2, which stores it too."""
    actions: TimedActions = (
        (1_900, (("kind", "drop-frame"), ("target", "B1->P1"), ("frame", "reply to SEND_MESSAGE_V2"))),
        (2_100, (("kind", "crash"), ("target", "B1"))),
    )
    answer = asked(TWO_BROKERS, "order-1", WhyQuestion.TWICE, actions=actions)
    assert answer.cause == "answer-lost"
    assert answer.verdict.arguments["broker"] == "B1"
    steps = [step for step in answer.steps if step.text.key in ("why.step.stored", "why.step.frame_lost")]
    assert [step.node for step in steps] == ["B1", "B1", "B2"]
