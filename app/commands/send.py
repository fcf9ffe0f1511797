"""``glassmq send``: messages to a topic, from the command line."""

from __future__ import annotations

import sys
import time

import click

from app.commands.tool import name_server_option, run_tool
from engine.protocol.message_properties import RESERVED_PROPERTIES

#: The group under which this command sends.
PRODUCER_GROUP = "glassmq_send"


@click.command("send")
@click.argument("topic")
@click.argument("body")
@click.option(
    "--tag",
    callback=lambda _ctx, _parameter, tag: _check_tag(tag),
    help="The message's tag, by which consumers filter.",
)
@click.option("--key", "keys", multiple=True, help="A key under which the message can be found; may be repeated.")
@click.option("--property", "properties", multiple=True, metavar="NAME=VALUE", help="A user property.")
@click.option("--delay-level", type=click.IntRange(0, 18), default=0, help="1 is 1 s, 2 is 5 s ... 18 is 2 h.")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="Send it so often.")
@click.option("--quiet", is_flag=True, help="Print the summary only.")
@name_server_option
def command(
    topic: str,
    body: str,
    tag: str | None,
    keys: tuple[str, ...],
    properties: tuple[str, ...],
    delay_level: int,
    count: int,
    quiet: bool,
    name_servers: tuple[str, ...],
) -> None:
    """Send BODY to TOPIC; "-" reads the body from standard input. {n} in BODY becomes the message's number.

    \b
    Examples:
      glassmq send orders 'hello'
      glassmq send orders 'order {n}' --tag new --key order-1 --count 1000 --quiet
    """
    text = sys.stdin.read() if body == "-" else body
    parsed = dict(_property(assignment) for assignment in properties)
    run_tool(_send(name_servers, topic, text, tag, keys, parsed, delay_level, count, quiet))


def _check_tag(tag: str | None) -> str | None:
    """RocketMQ's clients send any tag, but no expression of a consumer can name one of these."""
    if tag is not None and ("||" in tag or not tag.strip() or tag != tag.strip()):
        raise click.BadParameter(
            f"{tag!r} could not be subscribed to; a message has one tag, without blanks around it and without ||"
        )
    return tag


def _property(assignment: str) -> tuple[str, str]:
    name, equals, value = assignment.partition("=")
    if not (name and equals and value):
        raise click.BadParameter(f"{assignment!r}: write NAME=VALUE", param_hint="--property")
    if name in RESERVED_PROPERTIES:
        raise click.BadParameter(
            f"{name} belongs to RocketMQ; --tag, --key and --delay-level set theirs", param_hint="--property"
        )
    return name, value


async def _send(
    name_servers: tuple[str, ...],
    topic: str,
    body: str,
    tag: str | None,
    keys: tuple[str, ...],
    properties: dict[str, str],
    delay_level: int,
    count: int,
    quiet: bool,
) -> None:
    from engine.client.default_mq_producer import DefaultMQProducer
    from engine.protocol.message import Message

    started = time.perf_counter()
    async with DefaultMQProducer(None, PRODUCER_GROUP, name_servers) as producer:
        for number in range(count):
            data = body.replace("{n}", str(number)).encode("utf-8", "surrogateescape")
            message = Message(
                topic, data, tags=tag, keys=keys or None, properties=dict(properties), delay_level=delay_level
            )
            result = await producer.send(message)
            if not quiet:
                queue = result.message_queue
                click.echo(
                    f"{result.status}  {queue.topic} queue {queue.queue_id} offset {result.queue_offset}  "
                    f"id {result.message_id}"
                )
    seconds = time.perf_counter() - started
    if count > 1 or quiet:
        click.echo(f"{count} sent in {seconds:.2f} s ({count / max(seconds, 1e-6):,.0f}/s)")
