"""``glassmq groups members``: what the members of a group hold, by their own account (307)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from app.commands.tool import cluster_command, print_table
from engine.protocol.command.headers import GetConsumerRunningInfoRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

if TYPE_CHECKING:
    from app.picture.consumer_group import RunningInfo
    from app.remote.cluster_reader import ClusterReader

_HEADINGS = ("MEMBER", "LANGUAGE", "TOPIC", "QUEUE", "HELD", "COMMITTED", "LOCKED", "DROPPED", "PULLED")


@click.command("members")
@click.argument("group")
@cluster_command
async def members(reader: ClusterReader, group: str) -> None:
    """List what each member of GROUP reports of its queues: messages, locks, time of the last pull.

    The members are asked through a broker. What a client does not report is "-".

    \b
    Examples:
      glassmq groups members audit
    """
    reported: dict[str, tuple[str, RunningInfo | str]] = {}
    for address in (await reader.broker_addresses()).values():
        members_there = await reader.members(address, group)
        for client in (members_there or {}).get("connectionSet", []):
            name = str(client.get("clientId"))
            if name not in reported:
                reported[name] = str(client.get("language")), await _ask(reader, address, group, name)
    if not reported:
        raise click.ClickException(f"no member of group {group!r} is connected")
    print_table(_HEADINGS, [row for name in sorted(reported) for row in _rows(name, *reported[name])])


async def _ask(reader: ClusterReader, address: str, group: str, client_id: str) -> RunningInfo | str:
    """Return what the member reports, or why it reports nothing."""
    from app.live.client_answers import running_info_view

    header = GetConsumerRunningInfoRequestHeader(group, client_id)
    command = RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
    reply = await reader.exchange(address, command, f"report the state of client {client_id}")
    if reply.code != ResponseCode.SUCCESS:
        return reply.remark or f"code {reply.code}"
    try:
        return running_info_view(reply.body)
    except ProtocolError as error:
        return str(error)


def _rows(client_id: str, language: str, reported: RunningInfo | str) -> Iterator[tuple[object, ...]]:
    if isinstance(reported, str):
        yield client_id, language, reported, *"-" * 6
        return
    for queue in reported["queues"]:
        pulled_us = queue["last_pull_us"]
        yield (
            client_id,
            language,
            queue["topic"],
            queue["queue_id"],
            _shown(queue["message_count"]),
            _shown(queue["consume_offset"]),
            _shown(queue["locked"]),
            _shown(queue["dropped"]),
            "-" if pulled_us is None else f"{max(0.0, time.time() - pulled_us / 1_000_000):.1f} s ago",
        )


def _shown(value: bool | int | None) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else value
