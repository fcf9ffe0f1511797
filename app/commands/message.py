"""``glassmq message``: one message by its id."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import click

from app.commands.tool import body_text, name_server_option, run_tool

_MESSAGE_ID = re.compile(r"[0-9A-F]{32}|[0-9A-F]{56}")


@click.command("message")
@click.argument("message_id")
@click.option("--topic", help="Where to look for a unique id; without it all topics are searched.")
@name_server_option
def command(message_id: str, topic: str | None, name_servers: tuple[str, ...]) -> None:
    """Show the message with MESSAGE_ID: the id that send prints, or an offset message id.

    \b
    Examples:
      glassmq message 7F00000100002A9F0000000000000000
      glassmq message --topic orders AC110002000B5FFD2B2768FEE9350000
    """
    run_tool(_show(message_id.strip().upper(), topic, name_servers))


async def _show(message_id: str, topic: str | None, name_servers: tuple[str, ...]) -> None:
    from app.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        message = await reader.message(message_id, topic)
        if message is None and topic is not None and topic not in await reader.topics():
            raise click.ClickException(f"there is no topic {topic!r}")
    if message is None:
        where = "" if topic is None else f" in topic {topic}"
        hint = (
            "" if _MESSAGE_ID.fullmatch(message_id) else "; an id has 32 hexadecimal digits (56 where hosts have IPv6)"
        )
        raise click.ClickException(f"no message{where} has the id {message_id}{hint}")
    click.echo(f"topic              {message.topic}")
    click.echo(f"queue, offset      {message.queue_id}, {message.queue_offset}")
    click.echo(f"commit log offset  {message.commit_log_offset}")
    click.echo(f"unique id          {message.unique_id or '-'}")
    click.echo(f"offset message id  {message.offset_message_id}")
    click.echo(f"born               {_time(message.born_timestamp)}, at {message.born_host}")
    click.echo(f"stored             {_time(message.store_timestamp)}, at {message.store_host}")
    click.echo(f"tags, keys         {message.tags or '-'}, {' '.join(message.keys) or '-'}")
    for name, value in sorted(message.properties.items()):
        click.echo(f"property           {name} = {value}")
    click.echo(f"body               {len(message.body)} bytes")
    click.echo(body_text(message.body))


def _time(timestamp_ms: int) -> str:
    """Date and time here, and the figure as it stands in the message (ms since 1970)."""
    try:
        local = datetime.fromtimestamp(timestamp_ms // 1000, UTC).astimezone()
    except (OverflowError, ValueError, OSError):  # a client may have written anything
        return f"{timestamp_ms} ms"
    return f"{local:%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03d} {local:%z} ({timestamp_ms} ms)"
