"""``glassmq request``: sends a request and prints the reply to it."""

from __future__ import annotations

import sys

import click

from app.commands.tool import name_server_option, run_tool
from app.foundation.terminal_text import body_text
from app.remote.cluster_access import cluster_access

#: The producer group of this command.
PRODUCER_GROUP = "glassmq_request"


@click.command("request")
@click.argument("topic")
@click.argument("body")
@click.option("--tag", help="The message's tag, by which consumers filter.")
@click.option("--key", help="A key under which the message can be found.")
@click.option(
    "--timeout-ms",
    type=click.IntRange(1, 3_600_000),
    default=3_000,
    show_default=True,
    help="Time to wait for the reply, in ms, including the send.",
)
@name_server_option
def command(
    topic: str, body: str, tag: str | None, key: str | None, timeout_ms: int, name_servers: tuple[str, ...]
) -> None:
    """Send BODY to TOPIC, wait until a consumer has replied, print the reply. "-" reads BODY from standard input.

    \b
    Examples:
      glassmq reply questions --group answerers --body 'you asked: {body}'
      glassmq request questions 'what time is it?'
    """
    run_tool(_request(name_servers, topic, sys.stdin.read() if body == "-" else body, tag, key, timeout_ms))


async def _request(
    name_servers: tuple[str, ...], topic: str, body: str, tag: str | None, key: str | None, timeout_ms: int
) -> None:
    from engine.client.producer.default_mq_producer import DefaultMQProducer
    from engine.protocol.message.message import Message

    settings = cluster_access().client_settings()
    async with DefaultMQProducer(None, PRODUCER_GROUP, name_servers, **settings) as producer:
        message = Message(topic, body.encode("utf-8", "surrogateescape"), tags=tag, keys=key)
        reply = await producer.request(message, timeout_ms=timeout_ms)
    click.echo(body_text(reply.body))
