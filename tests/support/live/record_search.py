"""Searching stored records, for sources that stand in for the engine under the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from inspect import iscoroutine
from typing import Any

from app.foundation.json_types import JsonObject
from app.foundation.operator_requests import OperationRefused
from app.live.client_answers import running_info_view
from app.observation.record_view import record_summary
from app.watch.thresholds import Thresholds
from app.watch.watcher import Watcher
from engine.broker.transactions.half_message_lookup import HalfMessageAction, HalfMessageRefusal, HalfMessageRefused


class RecordSearch:
    """The part of a ``LiveSource`` that answers from ``records``: commit-log offset -> stored bytes.

    Functions that are asked get an object with what they use of the live engine.
    """

    records: dict[int, bytes]
    tree: JsonObject

    @cached_property
    def internals(self) -> dict[str, JsonObject]:
        """Group -> what its members tell."""
        return {}

    @cached_property
    def watcher(self) -> Watcher:
        """The real one, over made-up looks."""
        return Watcher(Thresholds())

    def ask(self, function: Callable[[Any], Any]) -> Any:
        answer = function(MadeUpEngine(self))
        return asyncio.run(answer) if iscoroutine(answer) else answer

    def brokers(self):
        """The one of ``tree``, which has not answered yet."""
        cluster = self.tree["cluster"]
        own = {"name": cluster["broker_name"], "id": 0, "address": cluster["broker_address"], "is_own": True}
        asked = {**own, "state": "asked", "since_us": cluster["now_us"], "why": "", "page": None, "facts": None}
        omitted = {"omitted_brokers": 0, "omitted_topics": 0, "omitted_groups": 0}
        return {"now_us": cluster["now_us"], "name_servers": {}, "brokers": [asked], **omitted}

    def _matching(self, accept: Callable[[Any], bool], limit: int):
        summaries = (record_summary(raw) for _, raw in sorted(self.records.items(), reverse=True))
        return [one for one, _ in zip(filter(accept, summaries), range(limit), strict=False)]

    def queue_entries(self, topic: str, queue_id: int, start: int, count: int):
        return None


class MadeUpEngine:
    """Stands in for :class:`app.web.live_source.LiveEngine` and its parts, which are all this object."""

    def __init__(self, source: RecordSearch) -> None:
        self._source = source
        self._tree = source.tree
        self.watcher = source.watcher
        self.queue_entries = source.queue_entries
        self.state = self.topics = self.operator = self

    def by_key(self, topic: str, key: str, limit: int):
        return self._source._matching(lambda one: one["topic"] == topic and key in one["keys"], limit)

    def by_unique_id(self, unique_id: str, topic: str | None, limit: int):
        return self._source._matching(
            lambda one: one["unique_id"] == unique_id and topic in (None, one["topic"]), limit
        )

    def by_offset_id(self, offset_message_id: str):
        return self._source._matching(lambda one: one["offset_message_id"] == offset_message_id, 1)

    def by_time(self, *_):
        """As a broker that does not have the topic."""
        return None

    def record_at(self, offset: int) -> bytes | None:
        return self._source.records.get(offset)

    def trails(self, name: str, topic: str | None):
        return list

    def find(self, text: str):
        """As a broker that has one more topic than its tree says."""
        unseen = {"unseen-orders": {"kind": "normal", "queues": 4, "stored": 12}}
        return {"topics": {name: facts for name, facts in unseen.items() if text.lower() in name}, "omitted": 3}

    def set_thresholds(self, wanted):
        self.watcher.change_thresholds(wanted)
        return self.watcher.as_json()

    def carry_out(self, request):
        raise OperationRefused("by_broker", why="this broker is made up")

    def act_on_half_message(self, action: HalfMessageAction, name: str, *, anyway: bool = False):
        raise HalfMessageRefused(HalfMessageRefusal.NO_SUCH, name=name)

    def clients(self, group: str):
        """As ``internals`` has it; members of other groups do not answer."""
        members = self._tree["groups"].get(group, {}).get("members", {})
        nothing = running_info_view(b"{}")
        silent = {"state": "silent", "asked_us": None, "answered_us": None, "remark": ""}
        made_up = {
            "group": group,
            "now_us": self._tree["cluster"]["now_us"],
            "members": [{**nothing, "client_id": name, **facts, **silent} for name, facts in members.items()],
            "omitted_members": 0,
            "retries": [],
            "are_all_retries": True,
        }
        return lambda: {**made_up, **self._source.internals.get(group, {})}

    def dead_letter_groups(self):
        return []

    def dead_letters(self, group: str, start: int | None, count: int):
        """As many as ``tree`` says, none of which was made up."""
        topic = self._tree["topics"].get(f"%DLQ%{group}")
        if topic is None:
            return None
        first, end = (topic["queues"]["0"][name] for name in ("min", "max"))
        facts = {"group": group, "count": end - first, "min": first, "max": end, "newest_us": None}
        return {"group": facts, "start": end, "messages": []}

    def resend_dead_letters(self, group: str, request):
        return None
