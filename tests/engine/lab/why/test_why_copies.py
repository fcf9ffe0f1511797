"""Why a message lies in two places: who stored which copy, and when."""

from engine.lab.why.answer import Question
from tests.engine.lab.why.asking import Deeds, asked

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


def test_of_two_brokers_the_one_that_stored_first_is_named():
    """B1 has stored it and dies without an answer; the producer asks B2, which stores it too."""
    deeds: Deeds = (
        (1_900, (("kind", "drop-frame"), ("target", "B1->P1"), ("frame", "reply to SEND_MESSAGE_V2"))),
        (2_100, (("kind", "crash"), ("target", "B1"))),
    )
    answer = asked(TWO_BROKERS, "order-1", Question.TWICE, deeds=deeds)
    assert answer.cause == "answer-lost"
    assert answer.verdict.arguments["broker"] == "B1"
    steps = [step for step in answer.steps if step.text.key in ("why.step.stored", "why.step.frame_lost")]
    assert [step.node for step in steps] == ["B1", "B1", "B2"]
