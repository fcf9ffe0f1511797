"""Replies of a group's leader that wait for the tables that they depend on (DLedger's brokers do not wait).

A topic or a group that the broker creates by itself takes effect immediately, and its file is written later. A client
that receives success in between, because it sent to the new topic or its heartbeat created the group, must find it at
the next leader.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from engine.broker.foundation.errors import ConfigNotSaved
from engine.broker.tables.config_table import ConfigTable
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import SENDS
from engine.protocol.response_code import ResponseCode


class SettledReplies:
    """Replies that wait for tables.

    :param tables: the tables to which requests may add entries implicitly.
    """

    def __init__(self, tables: Sequence[ConfigTable[Any]]) -> None:
        self._tables = tables

    def settle(self, request: RemotingCommand, reply: RemotingCommand) -> RemotingCommand | Awaitable[RemotingCommand]:
        """Return ``reply``, or an awaitable of it that waits until the changes of the tables are saved."""
        if reply.code != ResponseCode.SUCCESS or all(table.is_saved for table in self._tables):
            return reply
        return self._when_saved(request, reply)

    async def _when_saved(self, request: RemotingCommand, reply: RemotingCommand) -> RemotingCommand:
        try:
            for table in self._tables:
                if not table.is_saved:
                    await table.saved()
        except ConfigNotSaved as failure:
            is_stored = request.code in SENDS
            reply.code = ResponseCode.FLUSH_SLAVE_TIMEOUT if is_stored else ResponseCode.SYSTEM_ERROR
            reply.remark = f"done here, but not known to be done by the group: {failure}"
        return reply
