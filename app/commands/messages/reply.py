"""``glassmq reply``: answers the requests in a topic."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from app.commands.tool import name_server_option, run_tool
from app.foundation.terminal_text import body_text
from app.remote.cluster_access import cluster_access

if TYPE_CHECKING:
    from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
    from engine.client.producer.default_mq_producer import DefaultMQProducer
    from engine.protocol.message.message import MessageExt


@click.command("reply")
@click.argument("topic")
@click.option("--group", required=True, help="The consumer group; its members share the requests.")
@click.option("--body", default="{body}", show_default=True, help="The reply; {body} in it becomes the request's body.")
@click.option("--count", type=click.IntRange(1), help="Exit after this number of replies.")
@name_server_option
def command(topic: str, group: str, body: str, count: int | None, name_servers: tuple[str, ...]) -> None:
    """Answer the requests in TOPIC until Ctrl-C or --count, and print them. Other messages are consumed without an
    answer.

    \b
    Examples:
      glassmq reply questions --group answerers
      glassmq reply questions --group answerers --body 'you asked: {body}' --count 1
    """
    run_tool(_reply(name_servers, topic, group, body, count))


async def _reply(name_servers: tuple[str, ...], topic: str, group: str, body: str, count: int | None) -> None:
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
    from engine.client.producer.default_mq_producer import DefaultMQProducer

    settings = cluster_access().client_settings()
    async with DefaultMQProducer(None, group, name_servers, **settings) as producer:
        replier = _Replier(producer, body, count)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, replier.enough.set)
        consumer = DefaultMQPushConsumer(None, group, name_servers, **settings)
        consumer.subscribe(topic)
        consumer.register_message_listener(replier.listen)
        # A name server that is down must be an error here; the consumer would retry forever.
        await producer.instance.try_update_route(topic)
        async with consumer:
            click.echo(f"waiting for requests in {topic} for group {group} (Ctrl-C ends)", err=True)
            await replier.enough.wait()


class _Replier:
    def __init__(self, producer: DefaultMQProducer, body: str, count: int | None) -> None:
        self.enough = asyncio.Event()
        self._producer = producer
        self._body = body
        self._left = count

    async def listen(self, messages: Sequence[MessageExt], _context: object) -> ConsumeConcurrentlyStatus:
        """Reply to requests: the listener."""
        from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
        from engine.client.producer.reply_message import is_request

        for message in messages:
            if is_request(message):
                await self._answer(message)
            else:
                click.echo(f"no request: {body_text(message.body)}")
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def _answer(self, message: MessageExt) -> None:
        from engine.client.foundation.errors import MQClientError
        from engine.client.producer.reply_message import create_reply_message

        before, *rest = self._body.encode("utf-8", "surrogateescape").split(b"{body}")
        reply = before + b"".join(message.body + part for part in rest)
        try:
            await self._producer.send(create_reply_message(message, reply))
        except MQClientError as error:
            click.echo(f"{body_text(message.body)}  not answered: {error}", err=True)
            return
        click.echo(f"{body_text(message.body)}  -> {body_text(reply)}")
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                self.enough.set()
