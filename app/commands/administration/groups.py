"""``glassmq groups``: consumer groups and how far they lag behind."""

from __future__ import annotations

from datetime import datetime

import click

from app.commands.administration.default_group import ListingGroup
from app.commands.tool import name_server_option, print_table, run_tool

_TIME_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")


@click.group("groups", cls=ListingGroup)
def command() -> None:
    """List consumer groups with their lag, let one go on elsewhere, delete one. Without a command: list.

    \b
    Examples:
      glassmq groups
      glassmq groups audit
      glassmq groups reset-offset audit --topic orders --to-time "2026-11-22 10:00"
      glassmq groups delete audit
    """


@command.command("list")
@click.argument("group", required=False)
@name_server_option
def list_groups(group: str | None, name_servers: tuple[str, ...]) -> None:
    """List all consumer groups with their lag, or one GROUP queue by queue.

    \b
    Examples:
      glassmq groups list
      glassmq groups list audit
    """
    run_tool(_list_groups(name_servers) if group is None else _list_progress(name_servers, group))


@command.command("reset-offset")
@click.argument("group")
@click.option("--topic", required=True, help="The topic on which the group shall go on elsewhere.")
@click.option("--to", "place", type=click.Choice(["earliest", "latest"]), help="The oldest message, or the end.")
@click.option(
    "--to-time",
    type=click.DateTime(_TIME_FORMATS),
    help='The message stored nearest to this time, such as "2026-11-22 10:00" on this machine\'s clock.',
)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@name_server_option
def reset_offset(
    group: str, topic: str, place: str | None, to_time: datetime | None, yes: bool, name_servers: tuple[str, ...]
) -> None:
    """Let GROUP go on at another place of a topic: back to consume again, or forward to skip.

    Members that are online drop what they hold and begin anew within 10 s. What they confirm until then is lost with
    the old place, so messages around it may come twice.

    \b
    Examples:
      glassmq groups reset-offset audit --topic orders --to earliest
      glassmq groups reset-offset audit --topic orders --to-time "2026-11-22 10:00"
    """
    from app.remote.cluster_admin import EARLIEST_MS, LATEST

    if (place is None) == (to_time is None):
        raise click.UsageError("say where to: either --to earliest, --to latest or --to-time TIME")
    if to_time is not None:
        timestamp_ms, where = round(to_time.timestamp() * 1_000), f"the messages of {to_time}"
    else:
        timestamp_ms = LATEST if place == "latest" else EARLIEST_MS
        where = "the end" if place == "latest" else "the oldest message"
    if not yes:
        click.confirm(f"Let group {group} go on at {where} of topic {topic}?", abort=True)
    run_tool(_reset(name_servers, group, topic, timestamp_ms))


async def _reset(name_servers: tuple[str, ...], group: str, topic: str, timestamp_ms: int) -> None:
    from app.remote.cluster_admin import ClusterAdmin
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        if not await reader.topic_queues(topic):
            raise click.ClickException(f"no broker has a topic {topic!r}")
        if not any(one.queue.topic == topic for one in await reader.group_progress(group)):
            raise click.ClickException(f"there is no group {group!r}, or it has not consumed {topic} yet")
        resets, is_online = await ClusterAdmin(reader, name_servers).reset_offset(group, topic, timestamp_ms)
    print_table(
        ("BROKER", "QUEUE", "FROM", "TO"),
        [(one.queue.broker_name, one.queue.queue_id, "-" if one.old is None else one.old, one.new) for one in resets],
    )
    click.echo(
        "the members of the group are told; they begin there within 10 s" if is_online else "the group stands there now"
    )


@command.command("delete")
@click.argument("group")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@name_server_option
def delete(group: str, yes: bool, name_servers: tuple[str, ...]) -> None:
    """Delete GROUP with its offsets and its retry topic. Its dead letters stay.

    A member that is still online makes the group again with its next heartbeat.

    \b
    Examples:
      glassmq groups delete audit
    """
    run_tool(_delete(name_servers, group, yes=yes))


async def _delete(name_servers: tuple[str, ...], group: str, *, yes: bool) -> None:
    from app.remote.cluster_admin import ClusterAdmin
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        if group not in await reader.groups():
            raise click.ClickException(f"there is no group {group!r}, or it has not consumed anything yet")
        if not yes:
            lag = sum(one.lag for one in await reader.group_progress(group))
            click.echo(f"Group {group} has {lag} messages before it. One of that name will begin anew.")
            click.confirm("Delete it?", abort=True)
        await ClusterAdmin(reader, name_servers).delete_group(group)
    click.echo(f"group {group} is deleted")


async def _list_groups(name_servers: tuple[str, ...]) -> None:
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        rows: list[tuple[object, ...]] = []
        for group in await reader.groups():
            progress = await reader.group_progress(group)
            rows.append((group, len(progress), sum(one.lag for one in progress)))
    print_table(("GROUP", "QUEUES", "LAG"), rows)


async def _list_progress(name_servers: tuple[str, ...], group: str) -> None:
    from app.remote.cluster_reader import open_cluster_reader

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
