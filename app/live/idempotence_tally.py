"""Collects the counters of our own clients' idempotent listeners (request 307), for /metrics and the verdict.

Every :data:`ASK_EVERY_S` it asks consumers of our client's language, at most :data:`ASKED_MAX` at a time, those asked
longest ago first; consumers without an idempotent listener much less often. Totals only grow, also when a process ends:
each answer adds what its process has counted since its last one. What a process counted before this broker started is
left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import TYPE_CHECKING

from app.observation.bounds import client_text
from engine.idempotence.foundation.counters import IDEMPOTENCE_PROPERTY, IdempotenceCounters
from engine.protocol.command.headers import GetConsumerRunningInfoRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.enums import LanguageCode
from engine.protocol.errors import ProtocolError
from engine.protocol.json_form.json_text import loads_json, loads_json_object
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError

if TYPE_CHECKING:
    from app.picture.consumer_group import IdempotenceReport, IdempotenceTotals
    from engine.broker.broker import Broker
    from engine.broker.tables.client_channel_info import ClientChannelInfo

ASK_EVERY_S = 10.0
ANSWER_TIMEOUT_MS = 3_000
ANSWER_MAX_BYTES = 256 * 1024
ASKED_MAX = 32
#: Milliseconds until a consumer that reported no idempotent listener, or nothing, is asked again.
UNGUARDED_AGAIN_MS = 300_000
#: Groups that are read and counted; consumers that are kept, those that answered last.
GROUPS_MAX = 1_000
MEMBERS_MAX = 2_000

COUNTERS = tuple(each.name for each in fields(IdempotenceCounters))
_INT64_MAX = 2**63 - 1


def idempotence_view(properties: Mapping[str, object]) -> IdempotenceReport | None:
    """Return what a client's answer to 307 reports of its idempotent listener; None when it is missing or
    unreadable.
    """
    text = properties.get(IDEMPOTENCE_PROPERTY)
    try:
        reported = loads_json(text.encode()) if isinstance(text, str) else None
    except ProtocolError:
        return None
    if not isinstance(reported, dict):
        return None
    counters = reported.get("counters")
    return {
        "strategy": client_text(str(reported.get("strategy", ""))),
        "scope": client_text(str(reported.get("scope", ""))),
        "key": client_text(str(reported.get("key", ""))),
        "expiry_ms": _count(reported.get("expiryMs")),
        "when_unreachable": client_text(str(reported.get("whenUnreachable", ""))),
        "counters": {name: _count(counters.get(name) if isinstance(counters, dict) else 0) for name in COUNTERS},
    }


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value <= _INT64_MAX else 0


@dataclass(slots=True)
class _Member:
    asked_ms: int = 0
    reported_ms: int = 0
    strategy: str = ""
    counted: dict[str, int] = field(default_factory=dict)

    def is_due(self, now_ms: int) -> bool:
        again_ms = 0 if self.strategy or not self.asked_ms else UNGUARDED_AGAIN_MS
        return abs(now_ms - self.asked_ms) >= again_ms


class IdempotenceTally:
    """The counters of one broker's clients."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._began_ms = broker.runtime.clock.now_ms()
        #: (group, client id) -> its last answer.
        self._members: dict[tuple[str, str], _Member] = {}
        self._totals: dict[str, dict[str, int]] = {}

    async def follow(self) -> None:
        """Ask repeatedly."""
        while True:
            await self.ask()
            await asyncio.sleep(ASK_EVERY_S)

    def view(self) -> dict[str, IdempotenceTotals]:
        """Return group -> what its listeners counted."""
        now_ms = self._broker.runtime.clock.now_ms()
        view: dict[str, IdempotenceTotals] = {
            group: {"counters": dict(counters), "members": {}, "age_ms": 0} for group, counters in self._totals.items()
        }
        for group, client in self._online():
            member = self._members.get((group, client.client_id))
            if member is not None and member.strategy and group in view:
                of_group = view[group]
                of_group["members"][member.strategy] = of_group["members"].get(member.strategy, 0) + 1
                of_group["age_ms"] = max(of_group["age_ms"], now_ms - member.reported_ms)
        return view

    async def ask(self) -> None:
        """Ask once; late answers are ignored."""
        now_ms = self._broker.runtime.clock.now_ms()
        due = []
        for group, client in self._online():
            member = self._members.get((group, client.client_id)) or _Member()
            if client.language == LanguageCode.PYTHON and member.is_due(now_ms):
                due.append((member.asked_ms, group, client))
        due.sort(key=lambda each: each[:2])
        await asyncio.gather(*(self._ask(group, client, now_ms) for _, group, client in due[:ASKED_MAX]))

    def _online(self) -> list[tuple[str, ClientChannelInfo]]:
        groups = islice(self._broker.consumer_manager, GROUPS_MAX)
        return [(info.group_name, client) for info in groups for client in info.channel_info_table.values()]

    async def _ask(self, group: str, client: ClientChannelInfo, now_ms: int) -> None:
        member = self._members.pop((group, client.client_id), None) or _Member()
        self._members[group, client.client_id] = member
        if len(self._members) > MEMBERS_MAX:
            del self._members[next(iter(self._members))]
        member.asked_ms = now_ms
        header = GetConsumerRunningInfoRequestHeader(group, client.client_id)
        request = RemotingCommand.request(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
        try:
            answer = await client.channel.call(request, ANSWER_TIMEOUT_MS)
            if answer.code == ResponseCode.SUCCESS and len(answer.body) <= ANSWER_MAX_BYTES:
                properties = loads_json_object(answer.body, "the answer").get("properties")
                if isinstance(properties, dict) and (view := idempotence_view(properties)) is not None:
                    self._take(group, member, properties, view, await asyncio.to_thread(_strategies))
        except (RemotingError, ProtocolError):
            pass  # it is asked again

    def _take(
        self,
        group: str,
        member: _Member,
        properties: Mapping[str, object],
        view: IdempotenceReport,
        strategies: Sequence[str],
    ) -> None:
        counters = view["counters"]
        if not member.strategy:
            started = str(properties.get("PROP_CONSUMER_START_TIMESTAMP", ""))
            if not (started.isdecimal() and len(started) < 20 and int(started) >= self._began_ms):
                member.counted = dict(counters)
        member.strategy = view["strategy"] if view["strategy"] in strategies else "other"
        member.reported_ms = self._broker.runtime.clock.now_ms()
        if group not in self._totals and len(self._totals) >= GROUPS_MAX:
            return
        totals = self._totals.setdefault(group, dict.fromkeys(COUNTERS, 0))
        for name, count in counters.items():
            before = member.counted.get(name, 0)
            # Less than before: another process has the same name.
            totals[name] += count - before if count >= before else count
        member.counted = dict(counters)


def _strategies() -> Sequence[str]:
    """Return the names of the strategies. Not for the engine's loop: the first call imports our whole client."""
    from engine.idempotence.idempotence_config import STRATEGIES

    return STRATEGIES
