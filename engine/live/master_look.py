"""The settings that a slave takes over from its master. The slave requests them before it starts, and stores them in
its folder, so that it can start while the master is down.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.json_form.properties_text import parse_properties
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.port import DiskFault, Runtime

PATH = "config/master.json"
TIMEOUT_MS = 3_000


class MasterUnknown(Exception):
    """The master's settings are not available; the message is one line."""


@dataclass(frozen=True, slots=True)
class MasterLook:
    """Settings that master and slave share."""

    broker_name: str
    cluster_name: str
    name_servers: tuple[str, ...]
    commit_log_file_bytes: int


async def look_at_master(runtime: Runtime, address: str) -> MasterLook:
    """Request the settings of the master at ``address`` (code 26); if it is unreachable, return the stored ones.

    The master may be a RocketMQ or a GlassMQ broker.

    Raises :class:`MasterUnknown`.
    """
    client = RemotingClient(runtime, "slave to master")
    try:
        reply = await client.call(address, RemotingCommand.request(RequestCode.GET_BROKER_CONFIG), TIMEOUT_MS)
        if reply.code != ResponseCode.SUCCESS:
            raise MasterUnknown(
                f"{address} does not report its settings: code {reply.code}: {reply.remark}; see --slave-of"
            )
        found = _read(parse_properties(reply.body), address)
    except RemotingError as error:
        return _remembered(runtime, address, str(error))
    finally:
        await client.shutdown()
    runtime.disk.write_whole(PATH, json.dumps(asdict(found)).encode())
    return found


def _read(settings: dict[str, str], address: str) -> MasterLook:
    role = settings.get("brokerRole", "")
    if role == "SLAVE":
        raise MasterUnknown(f"{address} is a slave itself; give the address of its master")
    try:
        return MasterLook(
            settings["brokerName"],
            settings["brokerClusterName"],
            tuple(one.strip() for one in settings["namesrvAddr"].split(";") if one.strip()),
            int(settings["mappedFileSizeCommitLog"]),
        )
    except (KeyError, ValueError) as error:
        raise MasterUnknown(f"{address} is not a broker that can be followed: {error!r} in its settings") from error


def _remembered(runtime: Runtime, address: str, why: str) -> MasterLook:
    try:
        known = json.loads(runtime.disk.read_whole(PATH))
        return MasterLook(
            known["broker_name"],
            known["cluster_name"],
            tuple(known["name_servers"]),
            known["commit_log_file_bytes"],
        )
    except (DiskFault, ValueError, KeyError, TypeError):
        raise MasterUnknown(
            f"the master {address} does not answer, and this folder has not followed one yet: {why}"
        ) from None
