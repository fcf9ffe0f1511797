"""``glassmq topics``: topics, their queues and how many messages they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.administration.default_group import ListingGroup
from app.commands.tool import cluster_command, print_table
from app.foundation.operator_requests import QUEUES_MAX

if TYPE_CHECKING:
    from app.remote.cluster_reader import ClusterReader


@click.group("topics", cls=ListingGroup)
def command() -> None:
    """List all topics, or the queues of one; create or delete a topic. Without a command: list.

    \b
    Examples:
      glassmq topics
      glassmq topics orders
      glassmq topics --all
      glassmq topics create orders --queues 8
      glassmq topics delete orders
    """


@command.command("list")
@click.argument("topic", required=False)
@click.option("--all", "show_all", is_flag=True, help="Also the brokers' own topics and the groups' retry topics.")
@cluster_command
async def list_topics(reader: ClusterReader, topic: str | None, show_all: bool) -> None:
    """List all topics, or the queues of one TOPIC.

    Dead-letter topics (%DLQ%group) are listed too: their messages wait for an operator.

    \b
    Examples:
      glassmq topics list
      glassmq topics list orders
    """
    await (_list_topics(reader, show_all) if topic is None else _list_queues(reader, topic))


@command.command("create")
@click.argument("topic")
@click.option(
    "--queues",
    type=click.IntRange(1, QUEUES_MAX),
    default=4,
    show_default=True,
    help="Number of queues on every broker.",
)
@cluster_command
async def create(reader: ClusterReader, topic: str, queues: int) -> None:
    """Create TOPIC on all brokers, readable and writable. An existing topic gets this number of queues.

    \b
    Examples:
      glassmq topics create orders
      glassmq topics create orders --queues 8
    """
    from app.remote.cluster_admin import ClusterAdmin

    await ClusterAdmin(reader).create_topic(topic, queues)
    click.echo(f"topic {topic} has {queues} queues on every broker")


@command.command("delete")
@click.argument("topic")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@cluster_command
async def delete(reader: ClusterReader, topic: str, yes: bool) -> None:
    """Delete TOPIC on all brokers: its queues, the offsets of all groups, its route.

    A client that still sends to it creates it again where topics are created on demand.

    \b
    Examples:
      glassmq topics delete orders
    """
    from app.remote.cluster_admin import ClusterAdmin

    queues = await reader.topic_queues(topic)
    if not queues:
        raise click.ClickException(f"no broker has a topic {topic!r}")
    if not yes:
        messages = sum(ends.max_offset - ends.min_offset for ends in queues)
        click.echo(
            f"Topic {topic} has {len(queues)} queues with {messages} messages. Nobody can consume them afterwards."
        )
        click.confirm("Delete it?", abort=True)
    await ClusterAdmin(reader).delete_topic(topic)
    click.echo(f"topic {topic} is deleted")


async def _list_topics(reader: ClusterReader, show_all: bool) -> None:
    rows: list[tuple[object, ...]] = []
    for name in await (reader.topics() if show_all else reader.user_topics()):
        queues = await reader.topic_queues(name)
        messages = sum(ends.max_offset - ends.min_offset for ends in queues)
        rows.append((name, len(queues), messages))
    print_table(("TOPIC", "QUEUES", "MESSAGES"), rows)


async def _list_queues(reader: ClusterReader, topic: str) -> None:
    queues = await reader.topic_queues(topic)
    if not queues:
        raise click.ClickException(f"no broker has a topic {topic!r}")
    print_table(
        ("BROKER", "QUEUE", "MIN", "MAX"),
        [(ends.queue.broker_name, ends.queue.queue_id, ends.min_offset, ends.max_offset) for ends in queues],
    )
