"""``glassmq consume``: prints a topic's messages as a member of a consumer group."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.messages.loss import add_ledgers, open_of_ended, print_report, read_report
from app.commands.tool import name_server_option, run_tool
from app.foundation.option_rules import Excludes, option_rules
from app.foundation.option_types import by_field, text_field
from app.foundation.terminal_text import body_text, clean
from app.foundation.whole_file import write_whole
from app.remote.cluster_access import cluster_access
from engine.protocol.java_trim import java_trim

if TYPE_CHECKING:
    from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
    from engine.client.callbacks.consume_message_hook import ConsumeMessageContext
    from engine.client.callbacks.consume_orderly import ConsumeOrderlyStatus
    from engine.idempotence.loss_detection.judge import TopicVerdict
    from engine.idempotence.loss_detection.number_book import Sighting
    from engine.protocol.message.message import MessageExt

#: How long the shutdown waits for the listener, which prints immediately.
SHUTDOWN_WAIT_MS = 100


def _names_tags(expression: str) -> bool:
    """Refuse empty tags: RocketMQ's clients drop them silently, but in a typed expression they are a mistake."""
    return all(java_trim(tag) for tag in expression.split("||"))


@click.command("consume")
@click.argument("topic")
@click.option("--group", required=True, help="The consumer group; its members share the queues.")
@click.option(
    "--expression",
    default="*",
    show_default=True,
    type=by_field(text_field("text", _names_tags, "* and tags joined by ||, as 'new || paid', no empty tag")),
    help="Tags, such as 'new || paid'.",
)
@click.option("--sql", metavar="CONDITION", help="An SQL92 condition on properties instead, such as 'age > 5'.")
@click.option("--count", type=click.IntRange(1), help="Exit after this number of messages; the others stay unconsumed.")
@click.option(
    "--from",
    "start",
    type=click.Choice(["first", "last"]),
    default="first",
    show_default=True,
    help="The position at which a group without stored offsets begins.",
)
@click.option("--broadcast", is_flag=True, help="Every member gets every message.")
@click.option("--orderly", is_flag=True, help="Each queue in order: its queues are locked for this member.")
@click.option("--trace", is_flag=True, help="Record consumed messages in the trace topic: see glassmq trace.")
@click.option("--detect-loss", is_flag=True, help="Report missing numbers of producers that use send --number.")
@click.option(
    "--loss-report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Like --detect-loss, but continue from the report in FILE and update it: see glassmq loss.",
)
@option_rules(
    Excludes("--sql", "--expression", reason="a subscription filters by one of them"),
    *(
        Excludes(detector, "--sql", "--expression", reason="messages that a filter leaves out would seem lost")
        for detector in ("--detect-loss", "--loss-report")
    ),
)
@name_server_option
def command(
    topic: str,
    group: str,
    expression: str,
    sql: str | None,
    count: int | None,
    start: str,
    broadcast: bool,
    orderly: bool,
    trace: bool,
    detect_loss: bool,
    loss_report: Path | None,
    name_servers: tuple[str, ...],
) -> None:
    """Print messages of TOPIC as they come, until Ctrl-C or --count. Printed messages count as consumed.

    If TOPIC does not exist, the command waits for it. A body that is not UTF-8 text is printed as 0x and its bytes.
    --detect-loss prints the table of glassmq loss at the end. Exit code 1: numbers are missing, unknown, stored twice
    or out of order, or open for good, unless they may be in messages that this member has not read. --sql needs a
    broker that filters by properties: serve --broker-setting enablePropertyFilter=true.

    \b
    Examples:
      glassmq consume orders --group audit
      glassmq consume orders --group audit --expression 'new || paid' --count 10
      glassmq consume orders --group billing --trace
      glassmq consume orders --group billing --detect-loss
      glassmq consume people --group young --sql 'age BETWEEN 0 AND 6'
    """
    losses = _Losses(loss_report) if detect_loss or loss_report is not None else None
    run_tool(_consume(name_servers, topic, group, expression, sql, count, start, broadcast, orderly, trace, losses))
    if losses is not None and losses.found:
        raise SystemExit(1)


async def _consume(
    name_servers: tuple[str, ...],
    topic: str,
    group: str,
    expression: str,
    sql: str | None,
    count: int | None,
    start: str,
    broadcast: bool,
    orderly: bool,
    trace: bool,
    losses: _Losses | None,
) -> None:
    from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
    from engine.protocol.enums import ConsumeFromWhere, ExpressionType, MessageModel

    printer = _Printer(count)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, printer.enough.set)
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
        # One call with one message at a time: no message after the last printed one is ever started.
        consume_thread_min=1,
        consume_thread_max=1,
        consume_message_batch_max_size=1,
        await_termination_when_shutdown_ms=SHUTDOWN_WAIT_MS,
        enable_msg_trace=trace,
        **cluster_access().client_settings(),
    )
    with _warnings_shown():
        try:
            if sql is None:
                consumer.subscribe(topic, expression)
            else:
                consumer.subscribe(topic, sql, ExpressionType.SQL92)
            if orderly:
                consumer.register_message_listener_orderly(printer.print_in_order)
            else:
                consumer.register_message_listener(printer.print_message)
            if losses is not None:
                losses.enough = printer.enough
                consumer.register_consume_message_hook(losses)
            await _say_what_is_awaited(name_servers, topic, group)
            await consumer.start()
            await printer.enough.wait()
        finally:
            await consumer.shutdown()
    if printer.failure is not None:
        raise printer.failure
    if losses is not None:
        await losses.print_report(name_servers, topic)


@contextmanager
def _warnings_shown() -> Iterator[None]:
    """Show the warnings of the client on stderr, such as a broker that refuses it: the client retries silently
    otherwise.
    """
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("%(message)s"))
    log = logging.getLogger("glassmq.client")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Losses:
    """Checks the numbers of the messages that were printed (:mod:`engine.idempotence.loss_detection`). A
    ``ConsumeMessageHook``.

    :ivar found: whether something is wrong that messages of other members cannot explain.
    :ivar enough: once it is set, further messages are neither printed nor counted.
    """

    hook_name = "loss detection"

    def __init__(self, file: Path | None) -> None:
        from engine.idempotence.loss_detection.loss_detector import LossDetector, NotedWhen

        self._file = file
        self.found = False
        self.enough = asyncio.Event()
        report = read_report(file) if file is not None and file.exists() else None
        self._detector = LossDetector(report, NotedWhen.CONSUMED, _say_at_once)

    def consume_message_before(self, context: ConsumeMessageContext) -> None:
        """Note that a message is about to be printed, unless enough were."""
        if not self.enough.is_set():
            self._detector.consume_message_before(context)

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        """Note that a message was printed."""
        self._detector.consume_message_after(context)

    async def print_report(self, name_servers: tuple[str, ...], topic: str) -> None:
        """Print what was found, and write what was seen to the report file, at the end."""
        from app.remote.cluster_reader import open_cluster_reader

        report = self._detector.report
        async with open_cluster_reader(name_servers) as reader:
            for ends in await reader.topic_queues(topic):
                queue = f"{ends.queue.broker_name}:{ends.queue.queue_id}"
                report.note_queue(topic, queue, ends.min_offset, ends.max_offset)
            await add_ledgers(reader, report)
        self.found = any(map(_is_certain, print_report([report])))
        if self._file is not None:
            try:
                write_whole(self._file, report.encode())
            except OSError as error:
                raise click.ClickException(f"{self._file} cannot be written: {error.strerror}") from None


def _is_certain(verdict: TopicVerdict) -> bool:
    """Whether a fault is certain: missing or open numbers may be in queues that this member has not read, numbers seen
    twice may not.
    """
    return verdict.findings + open_of_ended(verdict) > min(verdict.unseen, verdict.missing + open_of_ended(verdict))


def _say_at_once(message: MessageExt, sighting: Sighting) -> None:
    """Print to stderr what one message shows; gaps are known only at the end."""
    from engine.idempotence.loss_detection.number_book import Sighting
    from engine.protocol.message.numbering_ledger import PRODUCER_ID_PROPERTY, SEQUENCE_NUMBER_PROPERTY

    words = {Sighting.TWICE: "is stored twice", Sighting.OUT_OF_ORDER: "comes after a higher one"}.get(sighting)
    if words is not None:
        number, producer = (message.properties[name] for name in (SEQUENCE_NUMBER_PROPERTY, PRODUCER_ID_PROPERTY))
        place = f"queue {message.queue_id} offset {message.queue_offset}"
        click.echo(f"number {number} of {clean(producer)} {words}: {place}", err=True)


class _Printer:
    """Prints messages, one at a time, until ``count`` are printed or the output takes no more.

    :ivar failure: why the output takes no more, such as a full disk.
    """

    def __init__(self, count: int | None) -> None:
        self.enough = asyncio.Event()
        self.failure: OSError | None = None
        self._count = count
        self._printed = 0

    async def print_message(self, messages: Sequence[MessageExt], _context: object) -> ConsumeConcurrentlyStatus:
        """Print messages: the concurrent listener."""
        from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus

        await self._print_or_end(messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def print_in_order(self, messages: Sequence[MessageExt], _context: object) -> ConsumeOrderlyStatus:
        """Print messages: the orderly listener."""
        from engine.client.callbacks.consume_orderly import ConsumeOrderlyStatus

        await self._print_or_end(messages)
        return ConsumeOrderlyStatus.SUCCESS

    async def _print_or_end(self, messages: Sequence[MessageExt]) -> None:
        """Print a message, or end the consumer's only worker when it came after the end; a shutdown under way would do
        the same.

        So the message is neither confirmed nor sent back to the broker, and stays unconsumed.
        """
        (message,) = messages
        if self.enough.is_set() or not self._print(message):
            worker = asyncio.current_task()
            assert worker is not None, "listeners are called by a task"
            worker.cancel()
            await asyncio.sleep(0)

    def _print(self, message: MessageExt) -> bool:
        """Print a message, and return whether the output accepted the line."""
        try:
            click.echo(_line(message))
        except OSError as failure:
            if not isinstance(failure, BrokenPipeError):  # the reader of the output (head, less) is gone
                self.failure = failure
            self.enough.set()
            return False
        self._printed += 1
        if self._printed == self._count:
            self.enough.set()
        return True


async def _say_what_is_awaited(name_servers: tuple[str, ...], topic: str, group: str) -> None:
    """Print one line to stderr about what the consumer waits for.

    Raises NameServerUnreachable, where the consumer itself would retry forever.
    """
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        exists = await reader.has_topic(topic)
    if not exists:
        click.echo(f"topic {topic} does not exist yet; waiting until somebody creates it", err=True)
    click.echo(f"waiting for messages of {topic} for group {group} (Ctrl-C ends)", err=True)


def _line(message: MessageExt) -> str:
    parts = [f"queue {message.queue_id} offset {message.queue_offset}"]
    if message.tags:
        parts.append(f"tag {message.tags}")
    if message.keys:
        parts.append(f"keys {' '.join(message.keys)}")
    if message.reconsume_times:
        parts.append(f"retry {message.reconsume_times}")
    return f"{'  '.join(parts)}  {body_text(message.body)}"
