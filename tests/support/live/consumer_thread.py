"""A member of a group that consumes during the test, in a thread and an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass

from engine.client import ConsumeFromWhere, DefaultMQPushConsumer
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.idempotence.idempotent_listener import IdempotentListener

#: Makes what guards the work of a member.
_GuardOf = Callable[[DefaultMQPushConsumer], Awaitable[IdempotentListener]]


@dataclass(frozen=True)
class ThreadedConsumer:
    """A running member."""

    instance: MQClientInstance
    call_soon: Callable[..., object]


@contextmanager
def consumer_of_orders(live, listener, *, orderly=False, group="billing", guard_of: _GuardOf | None = None):
    """A member that consumes in a thread of its own; ``call_soon`` is how to reach that.

    ``guard_of``: makes an idempotent listener, which is registered instead of ``listener``.
    """
    loop, made, stop = asyncio.new_event_loop(), [], asyncio.Event()
    is_ready = threading.Event()

    async def run():
        member = DefaultMQPushConsumer(
            None, group, live.name_servers, consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
        )
        member.subscribe("orders")
        if guard_of is not None:
            (await guard_of(member)).register(member, orderly=orderly)
        else:
            (member.register_message_listener_orderly if orderly else member.register_message_listener)(listener)
        async with member:
            made.append(ThreadedConsumer(member.instance, loop.call_soon_threadsafe))
            is_ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert is_ready.wait(60)
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()
