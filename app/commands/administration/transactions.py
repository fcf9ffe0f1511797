"""``glassmq transactions``: lists the half messages of a running cluster, and decides them by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from app.commands.tool import ask_cluster, cluster_command, limit_option, name_server_option, print_table
from engine.protocol.message.message_properties import KEY_SEPARATOR

if TYPE_CHECKING:
    from app.remote.cluster_reader import ClusterReader
    from app.remote.remote_half_messages import RemoteHalfMessages, Undecided
    from engine.broker.transactions.half_message_lookup import HalfMessageAction
    from engine.protocol.message.message import MessageExt

_F = TypeVar("_F", bound=Callable[..., Any])

#: Action -> the consequences that the confirmation prompt names.
_CONSEQUENCES = {
    "commit": "Consumers of {place} get it, whatever the local transaction did.",
    "rollback": "No consumer ever gets it, whatever the local transaction did.",
    "resume": "Group {group} is asked about it again; its checks are counted from 0.",
}


@click.group("transactions")
def command() -> None:
    """List half messages, and commit, roll back or resume them by hand.

    A message is named by its unique id or by one of its keys: both stay the same when a check-back stores it again.

    \b
    Examples:
      glassmq transactions list
      glassmq transactions commit order-17
      glassmq transactions resume --yes AC110002000B5FFD2B2768FEE9350000
    """


@command.command("list")
@limit_option
@cluster_command
async def list_half_messages(reader: ClusterReader, limit: int) -> None:
    """List the half messages that the brokers still check, and those that were given up.

    \b
    Examples:
      glassmq transactions list
      glassmq transactions list --limit 200
    """
    waiting: list[tuple[object, ...]] = []
    given_up: list[tuple[object, ...]] = []
    for broker, half_messages in (await _brokers(reader)).items():
        found = await half_messages.undecided(limit)
        waiting += [(*_row(broker, message), _state(found, message)) for message in found.messages]
        for message in await half_messages.given_up(limit):
            again = (await half_messages.lookup(message.message_id)).half_after(message)
            state = "given up" if again is None else f"checked again, half {again}"
            given_up.append((*_row(broker, message), state))
    head = ("BROKER", "OFFSET", "ID", "KEY", "MEANT FOR", "GROUP", "CHECKS", "AGE s", "STATE")
    click.echo("Half messages")
    print_table(head, waiting)
    if given_up:
        click.echo("\nGiven up")
        print_table(head, given_up)


_anyway = click.option(
    "--anyway",
    is_flag=True,
    help="Also when it is already decided (consumers may get it again), or when that is not known.",
)


def _action_options(function: _F) -> _F:
    yes = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
    return click.argument("message")(yes(name_server_option(function)))


@command.command("commit")
@_action_options
@_anyway
def commit(message: str, yes: bool, anyway: bool, name_servers: tuple[str, ...]) -> None:
    """Commit the half message MESSAGE: consumers get it, whatever the outcome of the local transaction.

    \b
    Examples:
      glassmq transactions commit order-17
    """
    ask_cluster(name_servers, _act, "commit", message, yes=yes, anyway=anyway)


@command.command("rollback")
@_action_options
@_anyway
def rollback(message: str, yes: bool, anyway: bool, name_servers: tuple[str, ...]) -> None:
    """Roll the half message MESSAGE back: no consumer ever gets it.

    \b
    Examples:
      glassmq transactions rollback order-17
    """
    ask_cluster(name_servers, _act, "rollback", message, yes=yes, anyway=anyway)


@command.command("resume")
@_action_options
def resume(message: str, yes: bool, name_servers: tuple[str, ...]) -> None:
    """Resume the check-backs of MESSAGE, which was given up, with a check count of 0.

    \b
    Examples:
      glassmq transactions resume order-17
    """
    ask_cluster(name_servers, _act, "resume", message, yes=yes)


async def _brokers(reader: ClusterReader) -> dict[str, RemoteHalfMessages]:
    from app.remote.remote_broker import remote_brokers
    from app.remote.remote_half_messages import RemoteHalfMessages

    return {name: RemoteHalfMessages(broker) for name, broker in (await remote_brokers(reader)).items()}


def _state(found: Undecided, message: MessageExt) -> str:
    if found.decided is None:
        return "not known: this broker hides its op queue"
    op = found.decided.get(message.queue_offset)
    return "undecided" if op is None else f"decided, op {op}"


def _row(broker: str, message: MessageExt) -> tuple[object, ...]:
    from engine.broker.transactions.half_message import check_times, producer_group

    age_s = max(0, int(time.time()) - message.born_timestamp // 1_000)
    key = message.keys[0] if message.keys else "-"
    return (
        broker,
        message.queue_offset,
        message.message_id,
        key,
        _place(message),
        producer_group(message),
        check_times(message),
        age_s,
    )


def _place(message: MessageExt) -> str:
    from engine.broker.transactions.half_message import real_place
    from engine.protocol.errors import MalformedMessage

    try:
        topic, queue_id = real_place(message)
    except MalformedMessage:
        return "-"
    return f"{topic} Q{queue_id}"


async def _act(reader: ClusterReader, action_name: str, name: str, *, yes: bool, anyway: bool = False) -> None:
    from engine.broker.transactions.half_message import producer_group
    from engine.broker.transactions.half_message_lookup import HalfMessageAction

    action = HalfMessageAction(action_name)
    brokers = await _brokers(reader)
    half_messages, message = await _find([*brokers.values()], action, name.strip(KEY_SEPARATOR), anyway=anyway)
    place, group = _place(message), producer_group(message)
    click.echo(f"{message.message_id} (key {' '.join(message.keys) or '-'}), meant for {place}, of group {group}")
    if not yes:
        consequence = _CONSEQUENCES[action].format(place=place, group=group)
        click.confirm(f"{consequence} {action.capitalize()} it?", abort=True)
        # Time may have passed before the operator answered the prompt.
        half_messages, message = await _find([half_messages], action, message.message_id, anyway=anyway)
    await half_messages.act(action, message)
    done = {
        HalfMessageAction.COMMIT: "committed",
        HalfMessageAction.ROLLBACK: "rolled back",
        HalfMessageAction.RESUME: "will be checked again",
    }
    click.echo(done[action])


async def _find(
    brokers: list[RemoteHalfMessages], action: HalfMessageAction, name: str, *, anyway: bool
) -> tuple[RemoteHalfMessages, MessageExt]:
    """Return the message and the only broker that stores it. Raises ``HalfMessageRefused``."""
    from engine.broker.transactions.half_message_lookup import NOT_FOUND, HalfMessageRefusal, HalfMessageRefused

    found: list[tuple[RemoteHalfMessages, MessageExt]] = []
    not_here: HalfMessageRefused | None = None
    for broker in brokers:
        try:
            found.append((broker, (await broker.lookup(name)).message_for(action, name, anyway=anyway)))
        except HalfMessageRefused as refused:
            if refused.refusal not in NOT_FOUND:
                raise
            not_here = refused
    if len(found) > 1:
        ids = ", ".join(message.message_id for _, message in found)
        raise HalfMessageRefused(HalfMessageRefusal.AMBIGUOUS, name=name, count=len(found), ids=ids)
    if not found:
        raise not_here or click.ClickException("the name server knows no broker")
    return found[0]
