"""``glassmq topics``: topics, their queues and how many messages they hold."""

from __future__ import annotations

import click

from app.commands.administration.default_group import ListingGroup
from app.commands.tool import name_server_option, print_table, run_tool
from app.foundation.operator_requests import QUEUES_MAX


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
@name_server_option
def list_topics(topic: str | None, show_all: bool, name_servers: tuple[str, ...]) -> None:
    """List all topics, or the queues of one TOPIC.

    Dead-letter topics (%DLQ%group) are listed too: their messages wait for an operator.

    \b
    Examples:
      glassmq topics list
      glassmq topics list orders
    """
    run_tool(_list_topics(name_servers, show_all) if topic is None else _list_queues(name_servers, topic))


@command.command("create")
@click.argument("topic")
@click.option(
    "--queues",
    type=click.IntRange(1, QUEUES_MAX),
    default=4,
    show_default=True,
    help="Number of queues on every broker.",
)
@name_server_option
def create(topic: str, queues: int, name_servers: tuple[str, ...]) -> None:
    """Create TOPIC on all brokers, readable and writable. An existing topic gets this number of queues.

    \b
    Examples:
      glassmq topics create orders
      glassmq topics create orders --queues 8
    """
    run_tool(_create(name_servers, topic, queues))


async def _create(name_servers: tuple[str, ...], topic: str, queues: int) -> None:
    from app.remote.cluster_admin import ClusterAdmin
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        await ClusterAdmin(reader, name_servers).create_topic(topic, queues)
    click.echo(f"topic {topic} has {queues} queues on every broker")


@command.command("delete")
@click.argument("topic")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@name_server_option
def delete(topic: str, yes: bool, name_servers: tuple[str, ...]) -> None:
    """Delete TOPIC on all brokers: its queues, the offsets of all groups, its route.

    A client that still sends to it creates it again where topics are created on demand.

    \b
    Examples:
      glassmq topics delete orders
    """
    run_tool(_delete(name_servers, topic, yes=yes))


async def _delete(name_servers: tuple[str, ...], topic: str, *, yes: bool) -> None:
    from app.remote.cluster_admin import ClusterAdmin
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        queues = await reader.topic_queues(topic)
        if not queues:
            raise click.ClickException(f"no broker has a topic {topic!r}")
        if not yes:
            messages = sum(ends.max_offset - ends.min_offset for ends in queues)
            click.echo(
                f"Topic {topic} has {len(queues)} queues with {messages} messages. Nobody can consume them afterwards."
            )
            click.confirm("Delete it?", abort=True)
        await ClusterAdmin(reader, name_servers).delete_topic(topic)
    click.echo(f"topic {topic} is deleted")


async def _list_topics(name_servers: tuple[str, ...], show_all: bool) -> None:
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        rows: list[tuple[object, ...]] = []
        for name in await (reader.topics() if show_all else reader.user_topics()):
            queues = await reader.topic_queues(name)
            messages = sum(ends.max_offset - ends.min_offset for ends in queues)
            rows.append((name, len(queues), messages))
    print_table(("TOPIC", "QUEUES", "MESSAGES"), rows)


async def _list_queues(name_servers: tuple[str, ...], topic: str) -> None:
    from app.remote.cluster_reader import open_cluster_reader

    async with open_cluster_reader(name_servers) as reader:
        queues = await reader.topic_queues(topic)
    if not queues:
        raise click.ClickException(f"no broker has a topic {topic!r}")
    print_table(
        ("BROKER", "QUEUE", "MIN", "MAX"),
        [(ends.queue.broker_name, ends.queue.queue_id, ends.min_offset, ends.max_offset) for ends in queues],
    )
