"""Clients of our own for tests of the test kit, run in a plain test or in a thread."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from engine.client import ConsumeFromWhere, DefaultMQProducer, DefaultMQPushConsumer, TransactionMQProducer


def send(glassmq, *messages, group="shop", **settings):
    """Send messages, and return the results."""

    async def work():
        async with DefaultMQProducer(None, group, glassmq.name_server_address, **settings) as producer:
            return [await producer.send(message) for message in messages]

    return asyncio.run(work())


@asynccontextmanager
async def consuming(glassmq, topic, listener, *, group="billing", orderly=False, **settings):
    """A member of ``group`` that consumes meanwhile, and confirms soon."""
    member = DefaultMQPushConsumer(
        None,
        group,
        glassmq.name_server_address,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        persist_consumer_offset_interval_ms=50,
        **settings,
    )
    member.subscribe(topic)
    (member.register_message_listener_orderly if orderly else member.register_message_listener)(listener)
    async with member:
        yield member


class Listener:
    """Answers a transaction with what it is given, and check-backs with something else."""

    def __init__(self, local, checked):
        self._local, self._checked = local, checked
        self.checks = 0

    async def execute_local_transaction(self, message, argument):
        return self._local

    async def check_local_transaction(self, message):
        self.checks += 1
        return self._checked


def transactional(glassmq, listener, group="bank"):
    """A transactional producer, to be used in an ``async with``."""
    return TransactionMQProducer(None, group, glassmq.name_server_address, transaction_listener=listener)
