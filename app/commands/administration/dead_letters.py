"""``glassmq dead-letters``: lists what consumer groups have given up, and sends it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.tool import ask_cluster, cluster_command, limit_option, name_server_option, print_table
from app.foundation.option_rules import Needs, OneOf, option_rules
from app.foundation.terminal_text import content_lines, local_time
from engine.protocol.message.message_properties import KEY_SEPARATOR

if TYPE_CHECKING:
    from app.remote.cluster_reader import ClusterReader
    from app.remote.remote_dead_letters import RemoteDeadLetters
    from engine.broker.delivery.dead_letter import ResendTo
    from engine.protocol.message.message import MessageExt

#: Destination -> the consequences that the confirmation prompt names.
_CONSEQUENCES = {
    "topic": "Every group that subscribes to {topic} gets it, also those that have consumed it already.",
    "group": "Only group {group} gets it.",
}


@click.group("dead-letters")
def command() -> None:
    """List dead letters, show one, and send them again.

    A dead letter is named by its offset message id, its unique id or one of its keys. It stays where it is; the new
    message has the property RESENT_DEAD_LETTER, so that it is not resent twice by mistake.

    \b
    Examples:
      glassmq dead-letters list
      glassmq dead-letters list billing
      glassmq dead-letters show billing order-17
      glassmq dead-letters resend billing order-17 --to group
      glassmq dead-letters resend billing --all --to topic --yes
    """


@command.command("list")
@click.argument("group", required=False)
@limit_option
@cluster_command
async def list_dead_letters(reader: ClusterReader, group: str | None, limit: int) -> None:
    """List the groups that have dead letters, or those of GROUP.

    \b
    Examples:
      glassmq dead-letters list
      glassmq dead-letters list billing --limit 200
    """
    await (_list_groups(reader) if group is None else _list(reader, group, limit))


@command.command("show")
@click.argument("group")
@click.argument("message")
@cluster_command
async def show(reader: ClusterReader, group: str, message: str) -> None:
    """Show the dead letter MESSAGE of GROUP with its properties and body.

    \b
    Examples:
      glassmq dead-letters show billing order-17
    """
    from engine.broker.delivery.dead_letter import original_topic, retries_of

    dead_letters, dead = await _find(await _brokers(reader), group, message.strip(KEY_SEPARATOR))
    again = await _resent_as(dead_letters, group, dead)
    cause = await dead_letters.cause_of_death(group, dead)
    click.echo(f"group              {group}")
    click.echo(f"original topic     {original_topic(dead) or '-'}")
    click.echo(f"dead since         {local_time(dead.store_timestamp)}")
    click.echo(f"born               {local_time(dead.born_timestamp)}, at {dead.born_host}")
    click.echo(f"retries            {retries_of(dead)}")
    click.echo(f"queue, offset      {dead.queue_id}, {dead.queue_offset}")
    click.echo(f"unique id          {dead.unique_id or '-'}")
    click.echo(f"offset message id  {dead.offset_message_id}")
    click.echo(f"tags, keys         {dead.tags or '-'}, {' '.join(dead.keys) or '-'}")
    click.echo(f"cause of death     {cause}")
    click.echo(f"resent as          {again}")
    for line in content_lines(dead):
        click.echo(line)


@command.command("resend")
@click.argument("group")
@click.argument("messages", nargs=-1)
@click.option(
    "--to",
    type=click.Choice(["topic", "group"]),
    required=True,
    help="topic: its original topic, so all groups that subscribe get it; group: only the group that failed.",
)
@click.option("--all", "everything", is_flag=True, help="All dead letters of the group that were not resent yet.")
@click.option("--anyway", is_flag=True, help="Also MESSAGES that were already resent: consumers may get them twice.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@option_rules(
    OneOf("MESSAGES", "--all"),
    Needs("--anyway", "MESSAGES", reason="--all would send them again and again"),
)
@name_server_option
def resend(
    group: str,
    messages: tuple[str, ...],
    to: str,
    everything: bool,
    anyway: bool,
    yes: bool,
    name_servers: tuple[str, ...],
) -> None:
    """Send the dead letters MESSAGES of GROUP again, or --all.

    \b
    Examples:
      glassmq dead-letters resend billing order-17 order-18 --to group
      glassmq dead-letters resend billing --all --to topic --yes
    """
    names = tuple(name.strip(KEY_SEPARATOR) for name in messages)
    if everything:
        ask_cluster(name_servers, _resend_all, group, to, yes)
    else:
        ask_cluster(name_servers, _resend, group, names, to, anyway, yes)


# ------------------------------------------------------------------------------ actions


async def _brokers(reader: ClusterReader) -> dict[str, RemoteDeadLetters]:
    from app.remote.remote_broker import remote_brokers
    from app.remote.remote_dead_letters import RemoteDeadLetters

    return {name: RemoteDeadLetters(broker) for name, broker in (await remote_brokers(reader)).items()}


async def _list_groups(reader: ClusterReader) -> None:
    from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX

    rows: list[tuple[object, ...]] = []
    brokers = await _brokers(reader)
    topics = [topic for topic in await reader.topics() if topic.startswith(DLQ_GROUP_TOPIC_PREFIX)]
    for group in [topic.removeprefix(DLQ_GROUP_TOPIC_PREFIX) for topic in topics]:
        for broker, dead_letters in brokers.items():
            count = (await dead_letters.of_group(group)).count
            if count:
                rows.append((group, broker, count))
    if not rows:
        click.echo("no group has dead letters")
        return
    print_table(("group", "broker", "dead letters"), rows)


async def _list(reader: ClusterReader, group: str, limit: int) -> None:
    rows: list[tuple[object, ...]] = []
    older = 0
    for broker, dead_letters in (await _brokers(reader)).items():
        found = await dead_letters.of_group(group)
        older += max(0, found.count - limit)
        for dead in await dead_letters.newest(found, limit):
            again = await _resent_as(dead_letters, group, dead)
            rows.append((broker, dead.queue_id, dead.queue_offset, *_row(dead), again))
    if not rows:
        click.echo(f"group {group} has no dead letters")
        return
    print_table(
        ("broker", "queue", "offset", "dead since", "retries", "original topic", "key", "message id", "resent as"), rows
    )
    if older:
        click.echo(f"{older} older ones are not listed; see --limit")


def _row(dead: MessageExt) -> tuple[object, ...]:
    from engine.broker.delivery.dead_letter import original_topic, retries_of

    key = " ".join(dead.keys) or "-"
    return (
        local_time(dead.store_timestamp),
        retries_of(dead),
        original_topic(dead) or "-",
        key[:60],
        dead.offset_message_id,
    )


async def _resent_as(dead_letters: RemoteDeadLetters, group: str, dead: MessageExt) -> str:
    from engine.broker.delivery.dead_letter import DeadLetterRefused

    try:
        again = await dead_letters.resent_as(group, dead)
    except DeadLetterRefused:
        return "not known: messageIndexEnable is false"
    return "-" if again is None else _place(again)


def _place(message: MessageExt) -> str:
    return f"{message.topic} Q{message.queue_id} {message.queue_offset}"


async def _find(brokers: dict[str, RemoteDeadLetters], group: str, name: str) -> tuple[RemoteDeadLetters, MessageExt]:
    """Return the dead letter and the broker that stores it: the newest one where several brokers do."""
    from engine.broker.delivery.dead_letter import DeadLetterRefusal, DeadLetterRefused

    found: list[tuple[RemoteDeadLetters, MessageExt]] = []
    for dead_letters in brokers.values():
        try:
            found.append((dead_letters, await dead_letters.find(group, name)))
        except DeadLetterRefused as refused:
            if refused.refusal is not DeadLetterRefusal.NO_SUCH:
                raise
    if not found:
        raise DeadLetterRefused(DeadLetterRefusal.NO_SUCH, group=group, name=name)
    ids = {message.message_id: None for _, message in found}
    if len(ids) > 1:
        raise DeadLetterRefused(DeadLetterRefusal.AMBIGUOUS, name=name, count=len(ids), ids=", ".join(ids))
    return max(found, key=lambda pair: pair[1].store_timestamp)


async def _resend(
    reader: ClusterReader, group: str, names: tuple[str, ...], to_name: str, anyway: bool, yes: bool
) -> None:
    from engine.broker.delivery.dead_letter import ResendTo, original_topic

    to = ResendTo(to_name)
    brokers = await _brokers(reader)
    chosen = [await _find(brokers, group, name) for name in dict.fromkeys(names)]
    for dead_letters, dead in chosen:
        await dead_letters.check(group, dead, to, anyway=anyway)
    if not yes:
        for _, dead in chosen:
            click.echo(
                f"{dead.message_id} (key {' '.join(dead.keys) or '-'}), originally of topic {original_topic(dead)}"
            )
        topics = ", ".join(dict.fromkeys(original_topic(dead) or "-" for _, dead in chosen))
        click.confirm(f"{_CONSEQUENCES[to].format(topic=topics, group=group)} Resend?", abort=True)
    for dead_letters, dead in chosen:
        # Time may have passed before the operator answered the prompt.
        await dead_letters.check(group, dead, to, anyway=anyway)
        click.echo(await _sent(dead_letters, group, dead, to))


async def _sent(dead_letters: RemoteDeadLetters, group: str, dead: MessageExt, to: ResendTo) -> str:
    place = await dead_letters.resend(group, dead, to)
    return f"{dead.message_id} resent to {place.topic} Q{place.queue_id}, offset {place.queue_offset}"


async def _resend_all(reader: ClusterReader, group: str, to_name: str, yes: bool) -> None:
    """Resend them one after the other. Those that cannot be resent are named at the end, and make the exit code 1."""
    from engine.broker.delivery.dead_letter import ResendTo

    to = ResendTo(to_name)
    sent = already = 0
    failures: list[str] = []
    brokers = await _brokers(reader)
    found = [(dead_letters, await dead_letters.of_group(group)) for dead_letters in brokers.values()]
    total = sum(one.count for _, one in found)
    if total == 0:
        raise click.ClickException(f"group {group} has no dead letters")
    if not yes:
        consequence = _CONSEQUENCES[to].format(topic="their original topics", group=group)
        click.confirm(f"{consequence} Resend those of {total} that were not resent yet?", abort=True)
    for dead_letters, one in found:
        start: int | None = 0
        while start is not None:
            report = await dead_letters.resend_from(one, start, to)
            sent, already, start = sent + len(report.resent), already + report.already, report.next_number
            failures += [f"{name}: {refused}" for name, refused in report.failed]
    click.echo(f"{sent} resent, {already} were resent before, {len(failures)} could not be")
    for line in failures:
        click.echo(line, err=True)
    if failures:
        raise click.exceptions.Exit(1)
