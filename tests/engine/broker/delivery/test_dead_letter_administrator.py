"""Resending one dead letter at the broker: to which queue, and what counts as resent."""

from __future__ import annotations

import pytest

from engine.broker.delivery.dead_letter import DeadLetterRefusal, DeadLetterRefused, ResendTo
from engine.protocol.names import retry_topic
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from tests.engine.broker.lab_broker import BrokerLab, broker_lab

GROUP = "consumers"


def bury(lab: BrokerLab, *keys: str) -> None:
    """Have the group give up messages that are first sent to queue 3 of T."""
    client = lab.client()
    client.create_topic("T", queues=4)
    for number, key in enumerate(keys):
        client.send(keys=key, properties={"UNIQ_KEY": key.upper()}, queue_id=3)
        (message,) = client.messages(queue_id=3, offset=number)
        client.send_back(message, delay_level=-1)
    lab.run_for(100)


def test_it_goes_back_to_its_queue_unless_that_is_gone() -> None:
    with broker_lab() as lab:
        bury(lab, "k0", "k1")
        administrator = lab.broker.dead_letter_administrator
        first = lab.world.run(administrator.resend(GROUP, "k0", ResendTo.TOPIC), node="broker-a")
        assert (first.topic, first.queue_id, first.queue_offset) == ("T", 3, 2)
        lab.client("admin").create_topic("T", queues=2)
        second = lab.world.run(administrator.resend(GROUP, "k1", ResendTo.TOPIC), node="broker-a")
        assert second.queue_id in (0, 1)


def test_one_that_was_resent_is_refused_and_so_is_a_message_that_is_none() -> None:
    with broker_lab() as lab:
        bury(lab, "k0")
        administrator = lab.broker.dead_letter_administrator
        lab.world.run(administrator.resend(GROUP, "k0", ResendTo.GROUP), node="broker-a")
        (living,) = lab.client("other").messages(queue_id=3, max_messages=1)
        for name, refusal in (("K0", DeadLetterRefusal.RESENT), (living.offset_message_id, DeadLetterRefusal.NO_SUCH)):
            with pytest.raises(DeadLetterRefused) as refused:
                administrator.check(GROUP, name, ResendTo.GROUP)
            assert refused.value.refusal is refusal


def test_a_slow_disk_does_not_make_a_resent_message_any_less_resent() -> None:
    store_config = MessageStoreConfig(flush_disk_type=FlushDiskType.SYNC_FLUSH, sync_flush_timeout_ms=500)
    with broker_lab(store_config=store_config) as lab:
        bury(lab, "k")
        lab.world.storages["broker-a"].flush_us = 2_000_000
        lab.world.run(lab.broker.dead_letter_administrator.resend(GROUP, "k", ResendTo.GROUP), node="broker-a")
        assert lab.broker.store.max_offset(retry_topic(GROUP), 0) == 1
