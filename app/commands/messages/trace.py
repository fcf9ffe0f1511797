"""``glassmq trace``: what clients recorded about one message in the trace topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.tool import cluster_command, print_table
from app.foundation.terminal_text import local_time

if TYPE_CHECKING:
    from app.remote.cluster_reader import ClusterReader
    from engine.client.trace.trace_context import TraceContext

#: Trace messages that are requested from one broker, as many as ``mqadmin queryMsgTraceById`` requests.
TRACE_MESSAGES_MAX = 64


@click.command("trace")
@click.argument("message_id")
@click.option("--topic", default="RMQ_SYS_TRACE_TOPIC", show_default=True, help="The trace topic.")
@cluster_command
async def command(reader: ClusterReader, message_id: str, topic: str) -> None:
    """Show what producers and consumers recorded about the message with MESSAGE_ID, the id that send prints.

    Only clients with message trace on (enable_msg_trace; enableMsgTrace in Java) record traces, and send them half a
    second later. What the broker itself did with the message is not included: see glassmq message.

    \b
    Examples:
      glassmq send orders hello --trace
      glassmq trace AC110002000B5FFD2B2768FEE9350000
    """
    message_id = message_id.strip()
    if not await reader.has_topic(topic):
        raise click.ClickException(
            f"there is no topic {topic!r}: no client has traced anything yet; brokers have it from the start with "
            "traceTopicEnable=true"
        )
    messages = await reader.messages_with_key(topic, message_id, TRACE_MESSAGES_MAX)
    notes = [
        (note, message.born_host)
        for message in messages
        for note in _notes_about(message_id, message.body.decode("utf-8", "replace"))
    ]
    if not notes:
        raise click.ClickException(f"no client has recorded anything about message {message_id} in topic {topic}")
    notes.sort(key=lambda pair: pair[0].timestamp_ms)
    click.echo(f"message {message_id}")
    print_table(
        ("what", "group", "client", "time", "took ms", "ended"),
        [_row(note, client, message_id) for note, client in notes],
    )


def _notes_about(message_id: str, text: str) -> list[TraceContext]:
    """Return the trace records of the message.

    Anyone may write to the trace topic: a record that cannot be read must not hide the others.
    """
    from engine.client.trace.trace_data_encoder import FIELD_SEPARATOR, decode_trace_data
    from engine.protocol.errors import MalformedBody

    notes = []
    for record in text.split(FIELD_SEPARATOR):
        if message_id not in record:
            continue
        try:
            notes += decode_trace_data(record)
        except MalformedBody as error:
            click.echo(f"a record is skipped: {error}", err=True)
    return [note for note in notes if any(bean.message_id == message_id for bean in note.beans)]


def _printable(text: str) -> str:
    """Return text without the characters that a terminal would execute as commands."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _row(note: TraceContext, client: str, message_id: str) -> tuple[object, ...]:
    from engine.client.callbacks.consume_message_hook import ConsumeReturnType
    from engine.client.trace.trace_context import SWALLOWED_CODE, TraceType

    bean = next(bean for bean in note.beans if bean.message_id == message_id)
    what, ended = note.trace_type.value, "success" if note.success else "failed"
    match note.trace_type:
        case TraceType.PUB:
            what = f"sent to {bean.topic} at {bean.store_host}"
        case TraceType.SUB_BEFORE:
            what, ended = f"listener called, delivery {bean.retry_times + 1}", ""
        case TraceType.SUB_AFTER:
            kinds = list(ConsumeReturnType)
            kind = kinds[note.context_code].value if 0 <= note.context_code < len(kinds) else str(note.context_code)
            if note.context_code == SWALLOWED_CODE:
                ended = "success: a duplicate, no work was done"
            what, ended = "listener ended", ended if note.success else f"failed: {kind}"
        case TraceType.END_TRANSACTION:
            asked = " (the broker had asked)" if bean.from_transaction_check else ""
            what, ended = f"local transaction: {bean.transaction_state}{asked}", ""
    return _printable(what), _printable(note.group_name), client, local_time(note.timestamp_ms), note.cost_ms, ended
