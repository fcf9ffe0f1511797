"""``glassmq send``: messages to a topic, from the command line."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from app.commands.tool import name_server_option, run_tool
from app.foundation.option_rules import Excludes, option_rules
from app.foundation.option_types import assignment, by_field, text_field
from app.remote.cluster_access import cluster_access
from engine.protocol.java_trim import java_trim
from engine.protocol.message.message_properties import RESERVED_PROPERTIES

if TYPE_CHECKING:
    from engine.client.callbacks.send_result import SendResult
    from engine.client.callbacks.transaction_listener import LocalTransactionState
    from engine.client.producer.default_mq_producer import DefaultMQProducer
    from engine.protocol.message.message import Message, MessageExt

#: The producer group of this command.
PRODUCER_GROUP = "glassmq_send"


def _can_be_subscribed_to(tag: str) -> bool:
    """Refuse tags that no consumer expression can name, although RocketMQ's clients send them."""
    return bool(tag) and "||" not in tag and tag == java_trim(tag)


_PROPERTY = assignment(
    "NAME=VALUE",
    "age=5",
    text_field(
        "name",
        lambda name: name not in RESERVED_PROPERTIES,
        "names not reserved by RocketMQ; see --tag, --key, --delay-level",
    ),
    text_field("value", len, "a value that is not empty"),
)


@click.command("send")
@click.argument("topic")
@click.argument("body")
@click.option(
    "--tag",
    type=by_field(text_field("text", _can_be_subscribed_to, "one tag, without blanks around it and without ||")),
    help="The message's tag, by which consumers filter.",
)
@click.option("--key", "keys", multiple=True, help="A key under which the message can be found; may be repeated.")
@click.option("--property", "properties", type=_PROPERTY, multiple=True, help="A user property.")
@click.option("--delay-level", type=click.IntRange(0, 18), default=0, help="1 is 1 s, 2 is 5 s ... 18 is 2 h.")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="Number of times to send it.")
@click.option("--batch", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Messages per request.")
@click.option(
    "--mode",
    type=click.Choice(["sync", "async", "oneway"]),
    default="sync",
    show_default=True,
    help="sync: wait for each answer; async: print the answers as they arrive; oneway: request no answers.",
)
@click.option(
    "--transaction",
    type=click.Choice(["commit", "rollback", "unknown"]),
    help="Send in transactions with this outcome; unknown leaves undecided half messages, see glassmq transactions.",
)
@click.option(
    "--timeout-ms",
    type=click.IntRange(1, 3_600_000),
    default=3_000,
    show_default=True,
    help="Time to wait for an answer, in ms; a longer one leaves time to step the frames of a send in the live page.",
)
@click.option("--trace", is_flag=True, help="Also record the messages in the trace topic: see glassmq trace.")
@click.option(
    "--number", is_flag=True, help="Number the messages, so that a loss can be found: glassmq pipeline delivery-audit."
)
@click.option("--quiet", is_flag=True, help="Print the summary only.")
@option_rules(
    Excludes("--batch", "--mode", reason="a batch is sent synchronously"),
    Excludes("--transaction", "--batch", "--mode", "--delay-level"),
)
@name_server_option
def command(
    topic: str,
    body: str,
    tag: str | None,
    keys: tuple[str, ...],
    properties: tuple[tuple[str, str], ...],
    delay_level: int,
    count: int,
    batch: int,
    mode: str,
    transaction: str | None,
    timeout_ms: int,
    trace: bool,
    number: bool,
    quiet: bool,
    name_servers: tuple[str, ...],
) -> None:
    """Send BODY to TOPIC; "-" reads the body from standard input. {n} in BODY becomes the message's number.

    \b
    Examples:
      glassmq send orders 'hello'
      glassmq send orders 'order {n}' --tag new --key order-1 --count 1000 --quiet
      glassmq send orders 'order {n}' --count 1000 --batch 50
      glassmq send orders 'order {n}' --count 1000 --mode async
      glassmq send orders 'order {n}' --count 1000 --number --trace
      glassmq send payments 'order 17 is paid' --transaction unknown
    """
    text = sys.stdin.read() if body == "-" else body
    content = _Content(topic, text, tag, keys, dict(properties), delay_level)
    run_tool(
        _send(
            name_servers,
            content,
            _SendVariant(count, batch, mode, transaction, timeout_ms, trace, number),
            _Reporter(quiet),
        )
    )


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of every message; ``{n}`` in the body becomes the message's number."""

    topic: str
    body: str
    tag: str | None
    keys: tuple[str, ...]
    properties: dict[str, str]
    delay_level: int

    def message(self, number: int) -> Message:
        from engine.protocol.message.message import Message

        return Message(
            self.topic,
            self.body.replace("{n}", str(number)).encode("utf-8", "surrogateescape"),
            tags=self.tag,
            keys=self.keys or None,
            properties=dict(self.properties),
            delay_level=self.delay_level,
        )


@dataclass(frozen=True, slots=True)
class _SendVariant:
    """How the messages are sent."""

    count: int
    batch: int
    mode: str
    transaction: str | None
    timeout_ms: int
    trace: bool
    number: bool


class _TransactionListener:
    """A local transaction that does nothing and ends as the user says."""

    def __init__(self, state: LocalTransactionState) -> None:
        self._state = state

    async def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
        return self._state

    async def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        return self._state


def _make_producer(name_servers: tuple[str, ...], way: _SendVariant) -> DefaultMQProducer:
    from engine.client.callbacks.transaction_listener import LocalTransactionState
    from engine.client.producer.default_mq_producer import DefaultMQProducer
    from engine.client.producer.transaction_mq_producer import TransactionMQProducer

    settings = {
        "send_msg_timeout_ms": way.timeout_ms,
        "enable_msg_trace": way.trace,
        "number_messages": way.number,
        **cluster_access().client_settings(),
    }
    if way.transaction is None:
        return DefaultMQProducer(None, PRODUCER_GROUP, name_servers, **settings)
    states = {
        "commit": LocalTransactionState.COMMIT_MESSAGE,
        "rollback": LocalTransactionState.ROLLBACK_MESSAGE,
        "unknown": LocalTransactionState.UNKNOW,
    }
    listener = _TransactionListener(states[way.transaction])
    return TransactionMQProducer(None, PRODUCER_GROUP, name_servers, listener, **settings)


async def _send(name_servers: tuple[str, ...], content: _Content, way: _SendVariant, reporter: _Reporter) -> None:
    started = time.perf_counter()
    async with _make_producer(name_servers, way) as producer:
        for first in range(0, way.count, way.batch):
            numbers = range(first, min(first + way.batch, way.count))
            await _send_some(producer, [content.message(number) for number in numbers], way, reporter)
    seconds = time.perf_counter() - started
    if reporter.failures:
        raise click.ClickException(
            f"{len(reporter.failures)} of {way.count} were not acknowledged: {reporter.failures[0]}"
        )
    if way.count > 1 or reporter.quiet or way.mode == "oneway":
        answers = "; whether they arrived is unknown" if way.mode == "oneway" else ""
        click.echo(f"{way.count} sent in {seconds:.2f} s ({way.count / max(seconds, 1e-6):,.0f}/s){answers}")


async def _send_some(
    producer: DefaultMQProducer, messages: list[Message], way: _SendVariant, reporter: _Reporter
) -> None:
    """Send one message, or a batch."""
    from engine.client.producer.list_splitter import ListSplitter
    from engine.client.producer.transaction_mq_producer import TransactionMQProducer

    if isinstance(producer, TransactionMQProducer):
        result = await producer.send_message_in_transaction(messages[0], None)
        reporter.report_transaction(result.send_result, str(way.transaction))
    elif way.mode == "async":
        await producer.send_async(messages[0], reporter.callback)
    elif way.mode == "oneway":
        await producer.send_oneway(messages[0])
    elif way.batch == 1:
        # A single message may be compressed; messages of a batch may not.
        reporter.report(await producer.send(messages[0]), 1)
    else:
        for part in ListSplitter(messages):
            reporter.report(await producer.send_batch(part), len(part))


class _Reporter:
    """Prints the broker's answers, unless it is to be quiet."""

    def __init__(self, quiet: bool) -> None:
        self.failures: list[Exception] = []
        self.quiet = quiet

    def report(self, result: SendResult, count: int) -> None:
        """Report that a request with ``count`` messages was acknowledged."""
        if not self.quiet:
            click.echo(_result_line(result, count))

    def report_transaction(self, result: SendResult, outcome: str) -> None:
        """Report that a half message was stored and its local transaction ended."""
        if not self.quiet:
            place = f"half message at offset {result.queue_offset}"
            click.echo(f"{result.status}  {place}, local transaction: {outcome}  id {result.message_id}")

    async def callback(self, result: SendResult | None, error: Exception | None) -> None:
        """Report the end of an asynchronous send."""
        if result is not None:
            self.report(result, 1)
        if error is not None:
            self.failures.append(error)


def _result_line(result: SendResult, count: int) -> str:
    """Return where the messages of one request are stored."""
    queue, first = result.message_queue, result.queue_offset
    if count == 1:
        return f"{result.status}  {queue.topic} queue {queue.queue_id} offset {first}  id {result.message_id}"
    return f"{result.status}  {queue.topic} queue {queue.queue_id} offsets {first} to {first + count - 1}, one request"
