"""``glassmq consume``: prints a topic's messages as a member of a consumer group."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from app.commands.tool import name_server_option, run_tool

if TYPE_CHECKING:
    from engine.protocol.message import MessageExt


@click.command("consume")
@click.argument("topic")
@click.option("--group", required=True, help="The consumer group; its members share the queues.")
@click.option("--expression", default="*", show_default=True, help="Tags, such as 'new || paid'.")
@click.option("--count", type=click.IntRange(1), help="Leave after so many messages.")
@click.option(
    "--from",
    "start",
    type=click.Choice(["first", "last"]),
    default="first",
    show_default=True,
    help="Where a group without stored offsets begins.",
)
@click.option("--broadcast", is_flag=True, help="Every member gets every message.")
@name_server_option
def command(
    topic: str,
    group: str,
    expression: str,
    count: int | None,
    start: str,
    broadcast: bool,
    name_servers: tuple[str, ...],
) -> None:
    """Print messages of TOPIC as they come, until Ctrl-C or --count. Printed messages count as consumed.

    \b
    Examples:
      glassmq consume orders --group audit
      glassmq consume orders --group audit --expression 'new || paid' --count 10
    """
    run_tool(_consume(name_servers, topic, group, expression, count, start, broadcast))


async def _consume(
    name_servers: tuple[str, ...],
    topic: str,
    group: str,
    expression: str,
    count: int | None,
    start: str,
    broadcast: bool,
) -> None:
    from engine.client.consume_concurrently import ConsumeConcurrentlyStatus
    from engine.client.default_mq_push_consumer import DefaultMQPushConsumer
    from engine.protocol.enums import ConsumeFromWhere, MessageModel

    enough = asyncio.Event()
    printed = 0

    async def print_messages(messages: Sequence[MessageExt], _context: object) -> ConsumeConcurrentlyStatus:
        nonlocal printed
        if enough.is_set():
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        try:
            for message in messages:
                click.echo(_line(message))
                printed += 1
        except BrokenPipeError:  # whoever read the output (head, less) is gone
            enough.set()
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        if count is not None and printed >= count:
            enough.set()
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, enough.set)
    consumer = DefaultMQPushConsumer(
        None,
        group,
        name_servers,
        message_model=MessageModel.BROADCASTING if broadcast else MessageModel.CLUSTERING,
        consume_from_where=(
            ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET
            if start == "first"
            else ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
        ),
    )
    consumer.subscribe(topic, expression)
    consumer.register_message_listener(print_messages)
    await consumer.start()
    try:
        await enough.wait()
    finally:
        await consumer.shutdown()


def _line(message: MessageExt) -> str:
    parts = [f"queue {message.queue_id} offset {message.queue_offset}"]
    if message.tags:
        parts.append(f"tag {message.tags}")
    if message.keys:
        parts.append(f"keys {' '.join(message.keys)}")
    if message.reconsume_times:
        parts.append(f"retry {message.reconsume_times}")
    return f"{'  '.join(parts)}  {message.body.decode('utf-8', 'backslashreplace')}"
