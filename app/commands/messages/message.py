"""``glassmq message``: one message by its id, with its history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import click

from app.commands.tool import ask_cluster, name_server_option
from app.foundation.json_text import dump_json
from app.foundation.option_rules import OneOf, option_rules
from app.foundation.terminal_text import content_lines, local_time
from engine.protocol.message.message_properties import KEY_SEPARATOR

if TYPE_CHECKING:
    from app.picture.message_life import CopyMark, LifeInGroup, LifeMark, StoredMessageLife
    from app.remote.cluster_reader import ClusterReader
    from engine.protocol.message.message import MessageExt

_MESSAGE_ID = re.compile(r"[0-9A-F]{32}|[0-9A-F]{56}")


@click.command("message")
@click.argument("message_id", required=False)
@click.option("--topic", help="The topic to search for a unique id or a key; without it all topics are searched.")
@click.option("--key", help="A key of the message, in place of MESSAGE_ID.")
@click.option("--json", "as_json", is_flag=True, help="Print the history as JSON, as /api/messages/trail returns it.")
@option_rules(OneOf("MESSAGE_ID", "--key"))
@name_server_option
def command(
    message_id: str | None, topic: str | None, key: str | None, as_json: bool, name_servers: tuple[str, ...]
) -> None:
    """Show the message with MESSAGE_ID and its history.

    MESSAGE_ID is the id that send prints, or an offset message id. The history is derived from the copies that the
    brokers store (delayed, sent back for a retry, dead, resent) and from the offsets of the groups.

    \b
    Examples:
      glassmq message 7F00000100002A9F0000000000000000
      glassmq message --topic orders AC110002000B5FFD2B2768FEE9350000
      glassmq message --key order-17 --topic orders
    """
    if key is not None:
        ask_cluster(name_servers, _show_by_key, key.strip(KEY_SEPARATOR), topic, as_json=as_json)
    else:
        ask_cluster(name_servers, _show, (message_id or "").strip().upper(), topic, as_json=as_json)


async def _show(reader: ClusterReader, message_id: str, topic: str | None, *, as_json: bool) -> None:
    from app.remote.remote_broker import remote_brokers
    from app.remote.remote_trail import message_with_id, remote_trail

    brokers = await remote_brokers(reader)
    message = await message_with_id(brokers, message_id) or await reader.message(message_id, topic)
    if message is None:
        if topic is not None and topic not in await reader.topics():
            raise click.ClickException(f"there is no topic {topic!r}")
        is_id = _MESSAGE_ID.fullmatch(message_id)
        hint = "" if is_id else "; an id has 32 hexadecimal digits (56 where hosts have IPv6), a key goes with --key"
        raise click.ClickException(f"no message{_in(topic)} has the id {message_id}{hint}")
    life = await remote_trail(brokers, await reader.topics(), message)
    _print([(message, life)], as_json=as_json)


async def _show_by_key(reader: ClusterReader, key: str, topic: str | None, *, as_json: bool) -> None:
    """Show the newest messages with that key, the newest one last."""
    from app.remote.remote_broker import remote_brokers
    from app.remote.remote_trail import messages_called, remote_trail

    brokers, topics = await remote_brokers(reader), await reader.topics()
    found = await messages_called(brokers, topics if topic is None else [topic], key)
    if not found:
        raise click.ClickException(f"no message{_in(topic)} has the key {key!r}")
    lives = [(message, await remote_trail(brokers, topics, message)) for message in found]
    _print(lives, as_json=as_json)


def _print(found: list[tuple[MessageExt, StoredMessageLife]], *, as_json: bool) -> None:
    if as_json:
        click.echo(dump_json({"messages": [life for _, life in found]}).decode())
        return
    for number, (message, life) in enumerate(found):
        if number:
            click.echo("")
        _print_message(message)
        _print_life(life)


def _in(topic: str | None) -> str:
    return "" if topic is None else f" in topic {topic}"


def _print_message(message: MessageExt) -> None:
    click.echo(f"topic              {message.topic}")
    click.echo(f"queue, offset      {message.queue_id}, {message.queue_offset}")
    click.echo(f"commit log offset  {message.commit_log_offset}")
    click.echo(f"unique id          {message.unique_id or '-'}")
    click.echo(f"offset message id  {message.offset_message_id}")
    click.echo(f"born               {_time(message.born_timestamp)}, at {message.born_host}")
    click.echo(f"stored             {_time(message.store_timestamp)}, at {message.store_host}")
    click.echo(f"tags, keys         {message.tags or '-'}, {' '.join(message.keys) or '-'}")
    for line in content_lines(message):
        click.echo(line)


def _time(timestamp_ms: int) -> str:
    """Return the local date and time, and the number as it is in the message (ms since 1970)."""
    return f"{local_time(timestamp_ms, with_zone=True)} ({timestamp_ms} ms)"


# ------------------------------------------------------------------------------ history


def _print_life(life: StoredMessageLife) -> None:
    click.echo("")
    click.echo("What happened to it, as far as the brokers know:")
    if life["omitted_marks"]:
        click.echo(f"  ({life['omitted_marks']} earlier steps are left out)")
    for mark in life["marks"]:
        click.echo(f"  {_local_time(mark['at_us'])}  {_mark(mark)}")
    for group, part in life["groups"].items():
        click.echo(f"  group {group}: {_state(part)}")
    if not life["groups"]:
        click.echo("  no group reads its topic")


def _local_time(at_us: int) -> str:
    return local_time(at_us // 1000)


def _mark(mark: LifeMark) -> str:
    if mark["kind"] == "produced":
        return f"produced at {mark.get('host', '-')}"
    copy = cast("CopyMark", mark)  # brokers know of no other marks
    place = f"{copy['topic']} Q{copy['queue_id']} offset {copy['queue_offset']} on {copy['broker']}"
    match copy["kind"]:
        case "delayed":
            return f"{_delay(copy)}: {place}"
        case "due":
            retry = "" if copy["group"] is None else f", retry {copy['reconsume_times']}"
            return f"due{retry}: {place}"
        case "dead":
            return f"dead letter of group {copy['group']}: {place}"
        case "resent":
            return f"resent by hand for dead letter {copy['resends']}: {place}"
        case "half":
            return f"half message, invisible until it is committed: {place}"
        case "given-up":
            return f"half message that was never decided: {place}"
    return f"stored: {place}"


def _delay(mark: CopyMark) -> str:
    if mark["group"] is None:
        return f"delayed at level {mark['level']}{_until(mark['until_us'])}"
    retry = f"given back by group {mark['group']} for retry {mark['reconsume_times']}"
    return f"{retry}, level {mark['level']}{_until(mark['until_us'])}"


def _until(until_us: int | None) -> str:
    return "" if until_us is None else f" until {_local_time(until_us)}"


def _state(part: LifeInGroup) -> str:
    match part["state"]:
        case "passed":
            return "has passed it: it was consumed or filtered out"
        case "filtered":
            return f"has passed it without consuming it: it subscribes to {part['expression']}"
        case "waiting":
            return f"has not confirmed it yet; {part['behind']} before it are not confirmed either"
        case "delayed":
            return f"gets it later: it waits{_until(part['until_us'])}"
        case "dead":
            return "gave up on it; see glassmq dead-letters"
    return "has not reported its progress yet"
