"""``glassmq message``: one message by its id."""

from __future__ import annotations

import click

from app.commands.tool import name_server_option, run_tool


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
    if message is None:
        raise click.ClickException(f"no message has the id {message_id}")
    click.echo(f"topic              {message.topic}")
    click.echo(f"queue, offset      {message.queue_id}, {message.queue_offset}")
    click.echo(f"commit log offset  {message.commit_log_offset}")
    click.echo(f"unique id          {message.unique_id or '-'}")
    click.echo(f"offset message id  {message.offset_message_id}")
    click.echo(f"born, stored (ms)  {message.born_timestamp} at {message.born_host}, {message.store_timestamp}")
    click.echo(f"tags, keys         {message.tags or '-'}, {' '.join(message.keys) or '-'}")
    for name, value in sorted(message.properties.items()):
        click.echo(f"property           {name} = {value}")
    click.echo(f"body               {len(message.body)} bytes")
    click.echo(message.body.decode("utf-8", "backslashreplace"))
