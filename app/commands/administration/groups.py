"""``glassmq groups``: consumer groups and their lag."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from app.commands.administration.default_group import ListingGroup
from app.commands.administration.group_members import members
from app.commands.tool import ask_cluster, cluster_command, name_server_option, print_table
from app.foundation.operator_requests import ResetOffsetRequest, ResetTarget
from app.foundation.option_rules import OneOf, Together, option_rules
from app.foundation.terminal_text import local_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.remote.cluster_admin import Reset, ResetPlan
    from app.remote.cluster_reader import ClusterReader, GroupProgress

_TIME_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")


@click.group("groups", cls=ListingGroup)
def command() -> None:
    """List consumer groups with their lag, list members, reset offsets, delete a group. Without a command: list.

    \b
    Examples:
      glassmq groups
      glassmq groups audit
      glassmq groups members audit
      glassmq groups reset-offset audit --topic orders --to-time "2026-11-22 10:00"
      glassmq groups delete audit
    """


command.add_command(members)


@command.command("list")
@click.argument("group", required=False)
@cluster_command
async def list_groups(reader: ClusterReader, group: str | None) -> None:
    """List all consumer groups with their lag, or one GROUP queue by queue.

    The lag of a group that broadcasts is "-": each member keeps its own offsets.

    \b
    Examples:
      glassmq groups list
      glassmq groups list audit
    """
    await (_list_groups(reader) if group is None else _list_progress(reader, group))


@command.command("reset-offset")
@click.argument("group")
@click.option("--topic", required=True, help="The topic whose offsets are reset.")
@click.option(
    "--to", "place", type=click.Choice(["earliest", "latest"]), help="Reset to the oldest message, or to the end."
)
@click.option(
    "--to-time",
    type=click.DateTime(_TIME_FORMATS),
    help='Reset to the message stored nearest to this local time, such as "2026-11-22 10:00".',
)
@click.option(
    "--to-offset", type=click.IntRange(0), help="Reset --queue to this offset; only while no member is online."
)
@click.option("--queue", type=click.IntRange(0), help="The queue of --to-offset.")
@click.option("--preview", is_flag=True, help="Show the effect without changing anything.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@option_rules(
    OneOf("--to earliest", "--to latest", "--to-time", "--to-offset"),
    Together("--to-offset", "--queue", reason="an offset belongs to one queue"),
)
@name_server_option
def reset_offset(
    group: str,
    topic: str,
    place: str | None,
    to_time: datetime | None,
    to_offset: int | None,
    queue: int | None,
    preview: bool,
    yes: bool,
    name_servers: tuple[str, ...],
) -> None:
    """Reset the offsets of GROUP in a topic: back to consume again, or forward to skip.

    Online members drop the messages that they hold and restart at the new offsets within 10 s; the command waits until
    they have, and then prints the stored offsets. What they confirm until then is lost with the old offsets, so
    messages around them may be delivered twice. Members that use a pull client keep their own offsets: stop them first.

    \b
    Examples:
      glassmq groups reset-offset audit --topic orders --to earliest
      glassmq groups reset-offset audit --topic orders --to-time "2026-11-22 10:00" --preview
      glassmq groups reset-offset audit --topic orders --to-offset 120 --queue 3
    """
    if to_offset is not None:
        request = ResetOffsetRequest(group, topic, ResetTarget.OFFSET, queue_id=queue or 0, offset=to_offset)
    elif to_time is not None:
        request = ResetOffsetRequest(group, topic, ResetTarget.TIME, time_ms=round(to_time.timestamp() * 1_000))
    else:
        request = ResetOffsetRequest(group, topic, ResetTarget(place or ""))
    ask_cluster(name_servers, _reset, request, preview=preview, yes=yes)


async def _reset(reader: ClusterReader, request: ResetOffsetRequest, *, preview: bool, yes: bool) -> None:
    from app.remote.cluster_admin import ClusterAdmin

    admin = ClusterAdmin(reader)
    if preview or not yes:
        _report_plan(request, await admin.plan_reset(request))
    if preview:
        return
    if not yes:
        click.confirm(f"Let group {request.group} go on there in topic {request.topic}?", abort=True)
    resets = await admin.reset_offset(request)
    print_table(
        ("BROKER", "QUEUE", "FROM", "TO", "STORED"),
        [
            (one.queue.broker_name, one.queue.queue_id, _or_dash(one.old), one.new, _or_dash(one.stored))
            for one in resets
        ],
    )
    _report_outcome(request, resets)


def _or_dash(offset: int | None) -> int | str:
    return "-" if offset is None else offset


def _report_outcome(request: ResetOffsetRequest, resets: list[Reset]) -> None:
    """Print one line with the outcome.

    Raises ``ClickException`` when the group did not reach the offset that was requested.
    """
    others = [str(one.queue.queue_id) for one in resets if not one.is_stored]
    if others:
        raise click.ClickException(
            f"queues {', '.join(others)} of {request.topic} do not have the requested offset: members of group "
            f"{request.group} did not start there, or stored another one; stop them and reset again"
        )
    awaited = [str(one.queue.queue_id) for one in resets if one.is_awaited]
    if awaited:
        raise click.ClickException(
            f"the offsets are stored, but no member of group {request.group} has started there on queues "
            f"{', '.join(awaited)} of {request.topic}: stop the members and reset again"
        )
    click.echo("the group continues there")


def _report_plan(request: ResetOffsetRequest, plan: ResetPlan) -> None:
    again = sum(max(0, one.again) for one in plan.resets)
    skipped = sum(max(0, -one.again) for one in plan.resets)
    click.echo(
        f"Group {request.group} would read {again} messages of {request.topic} again and skip {skipped}"
        + ("." if plan.first_ms is None else f", from {local_time(plan.first_ms)} on.")
    )


@command.command("delete")
@click.argument("group")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@cluster_command
async def delete(reader: ClusterReader, group: str, yes: bool) -> None:
    """Delete GROUP with its offsets and its retry topic. Its dead letters stay.

    A member that is still online creates the group again with its next heartbeat.

    \b
    Examples:
      glassmq groups delete audit
    """
    from app.remote.cluster_admin import ClusterAdmin

    if group not in await reader.groups():
        raise click.ClickException(f"there is no group {group!r}, or it has not consumed anything yet")
    if not yes:
        lag = _sum_of_lags(await reader.group_progress(group))
        click.echo(f"Group {group} has {lag} messages left to consume. A new group of that name will start over.")
        click.confirm("Delete it?", abort=True)
    await ClusterAdmin(reader).delete_group(group)
    click.echo(f"group {group} is deleted")


async def _list_groups(reader: ClusterReader) -> None:
    rows: list[tuple[object, ...]] = []
    for group in await reader.groups():
        progress = await reader.group_progress(group)
        rows.append((group, len(progress), _sum_of_lags(progress)))
    print_table(("GROUP", "QUEUES", "LAG"), rows)


def _sum_of_lags(progress: Sequence[GroupProgress]) -> int | str:
    """Return the sum over all queues; "-" for a group that broadcasts, whose members keep their own offsets."""
    return "-" if any(one.broadcasts for one in progress) else sum(one.lag or 0 for one in progress)


async def _list_progress(reader: ClusterReader, group: str) -> None:
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
                _or_dash(one.lag),
            )
            for one in progress
        ],
    )
