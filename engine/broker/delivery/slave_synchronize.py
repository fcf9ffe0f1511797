"""The synchronization of a slave's tables with its master (RocketMQ: ``SlaveSynchronize``): topics, groups, and the
offsets of groups and delay levels, every 10 s; and a check that the two logs are the same.

Progress that a group made at the slave alone is overwritten by the master's offsets when the master is back: as in
RocketMQ, groups may receive messages again then. Here that is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.broker.delivery.schedule_message_service import ScheduleMessageService
from engine.broker.foundation.broker_outer_api import BrokerOuterApi
from engine.broker.tables.consumer_offset_manager import TOPIC_GROUP_SEPARATOR, ConsumerOffsetManager
from engine.broker.tables.subscription_group_manager import SubscriptionGroupManager
from engine.broker.tables.topic_config_manager import TopicConfigManager
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import ViewMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_text import loads_json_object
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.replication.ha.ha_client import MasterDiverged
from engine.runtime.port import ConnectFailed, DiskFault
from engine.store.files.consume_queue_entry import FILLER_SIZE
from engine.store.message_store import MessageStore

logger = logging.getLogger("glassmq.replication")

#: The timeout of each request, as in ``BrokerOuterAPI``.
TIMEOUT_MS = 3_000
#: The maximum number of groups and delay levels named in one line of the log.
_NAMES_MAX = 20


@dataclass(eq=False)
class SlaveSynchronize:
    """The synchronization of one slave."""

    outer_api: BrokerOuterApi
    store: MessageStore
    topics: TopicConfigManager
    groups: SubscriptionGroupManager
    offsets: ConsumerOffsetManager
    schedule: ScheduleMessageService

    def __post_init__(self) -> None:
        self._problem = ""
        #: Groups and delay levels that the last copy moved back, so that they are logged only once.
        self._taken_back: dict[str, int] = {}

    async def sync_all(self) -> None:
        """Take over the master's tables; a table that the master does not return is requested again."""
        if self.outer_api.master_addresses is None:
            return
        master, _ = self.outer_api.master_addresses
        groups_before, levels_before = self.offsets.offset_table, dict(self.schedule.offset_table)
        try:
            for code, take_over in (
                (RequestCode.GET_ALL_TOPIC_CONFIG, self._take_topics),
                (RequestCode.GET_ALL_CONSUMER_OFFSET, self.offsets.take_over),
                (RequestCode.GET_ALL_DELAY_OFFSET, self.schedule.take_over),
                (RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, self.groups.take_over),
            ):
                take_over(
                    loads_json_object(await self._ask(master, code), f"the reply to {code.name}", values_max=None)
                )
        except (RemotingError, ProtocolError, DiskFault) as problem:
            if str(problem) != self._problem:
                logger.warning("topics, groups and offsets of master %s are not copied: %s", master, problem)
            self._problem = str(problem)
        else:
            self._problem = ""
            self._report_taken_back(master, groups_before, levels_before)

    def _report_taken_back(
        self, master: str, groups_before: Mapping[str, Mapping[int, int]], levels_before: Mapping[int, int]
    ) -> None:
        """Log once, in one line, which newer offsets were replaced by the master's older ones."""
        taken_back: dict[str, int] = {}
        for key, before in groups_before.items():
            after = self.offsets.offset_table.get(key, {})
            if lost := _fall(before, after):
                name = f"group {key.partition(TOPIC_GROUP_SEPARATOR)[2]}"
                taken_back[name] = taken_back.get(name, 0) + lost
        for level, offset in levels_before.items():
            if lost := _fall({level: offset}, self.schedule.offset_table):
                taken_back[f"delay level {level}"] = lost
        new = [f"{name} by {count}" for name, count in taken_back.items() if name not in self._taken_back]
        self._taken_back = taken_back
        if new:
            named, more = ", ".join(new[:_NAMES_MAX]), len(new) - _NAMES_MAX
            logger.warning(
                "offsets of master %s are older than those here and replace them (messages come again): %s%s",
                master,
                named,
                f" and {more} more" if more > 0 else "",
            )

    def _take_topics(self, content: dict[str, Any]) -> None:
        self.topics.take_over(content)

    async def _ask(self, master: str, code: RequestCode, header: CommandHeader | None = None) -> bytes:
        reply = await self.outer_api.client.call(master, RemotingCommand.request(code, header), TIMEOUT_MS)
        if reply.code != ResponseCode.SUCCESS:
            raise ProtocolError(f"code {reply.code}: {reply.remark}")
        return reply.body

    async def check_log(self) -> None:
        """Compare the last message here with the master's at the same offset.

        Raises :class:`MasterDiverged`; ``ConnectFailed`` if the master cannot be reached.
        """
        place = self._last_message()
        if place is None or self.outer_api.master_addresses is None:
            return
        offset, size = place
        master, _ = self.outer_api.master_addresses
        try:
            theirs = await self._ask(master, RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset))
        except ProtocolError as why:
            raise self._diverged(master, offset, f"it has no message there ({why})") from why
        except RemotingError as why:
            raise ConnectFailed(f"master {master} does not report what it has at {offset}: {why}") from why
        if theirs != self.store.commit_log.read_bytes(offset, size):
            raise self._diverged(master, offset, "it has another message there")

    def _diverged(self, master: str, offset: int, what: str) -> MasterDiverged:
        return MasterDiverged(
            f"the last message here begins at byte {offset} of the log, and this is not the log of master {master} any "
            f"more: {what}. Nothing is copied over it. To follow that master, start with an empty folder; what only "
            "this one has can be read from it"
        )

    def _last_message(self) -> tuple[int, int] | None:
        """Return offset and size of the newest visible message, or None."""
        last: tuple[int, int] | None = None
        for topic, queue_id, queue in self.store.consume_queues():
            for offset, size, _ in self.store.consume_queue_entries(topic, queue_id, queue.max_offset - 1, 1):
                if size != FILLER_SIZE and (last is None or offset > last[0]):
                    last = (offset, size)
        return last


def _fall(before: Mapping[int, int], after: Mapping[int, int]) -> int:
    """Return by how much offsets are smaller ``after``, in total; a missing one counts as 0."""
    return sum(max(0, offset - after.get(number, 0)) for number, offset in before.items())
