"""``glassmq groups``: consumer groups and how far they lag behind."""

from __future__ import annotations

import click

from app.commands.tool import name_server_option, print_table, run_tool


@click.command("groups")
@click.argument("group", required=False)
@name_server_option
def command(group: str | None, name_servers: tuple[str, ...]) -> None:
    """List all consumer groups with their lag, or one GROUP queue by queue.

    \b
    Examples:
      glassmq groups
      glassmq groups audit
    """
    run_tool(_list_groups(name_servers) if group is None else _list_progress(name_servers, group))


async def _list_groups(name_servers: tuple[str, ...]) -> None:
    from app.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        rows: list[tuple[object, ...]] = []
        for group in await reader.groups():
            progress = await reader.group_progress(group)
            rows.append((group, len(progress), sum(one.lag for one in progress)))
    print_table(("GROUP", "QUEUES", "LAG"), rows)


async def _list_progress(name_servers: tuple[str, ...], group: str) -> None:
    from app.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        progress = await reader.group_progress(group)
    if not progress:
        raise click.ClickException(f"there is no group {group!r}, or it has not consumed anything yet")
    print_table(
        ("TOPIC", "BROKER", "QUEUE", "END", "GROUP", "LAG"),
        [
            (
                one.queue.topic,
                one.queue.broker_name,
                one.queue.queue_id,
                one.broker_offset,
                one.consumer_offset,
                one.lag,
            )
            for one in progress
        ],
    )
