"""Reads what one broker reports of itself: its runtime table (code 28), settings, topics and groups.

Works with GlassMQ and with a real RocketMQ 4.x, whose table has fewer entries.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from app.observation.bounds import QUEUES_PER_TOPIC_MAX, client_text
from app.remote.cluster_reader import GroupProgress, QueueEnds
from app.remote.remote_broker import RemoteBroker
from engine.broker import own_runtime_info as own
from engine.fields.field import EXACT_MAX

if TYPE_CHECKING:
    from app.picture.live.brokers import BrokerFacts, BrokerTopic

_Read = TypeVar("_Read")

#: Replicas of a broker that are listed.
_REPLICAS_MAX = 16
#: The page of another broker is a link: it may lead to a web page only.
_PAGE = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+(/[A-Za-z0-9./_-]*)?")


async def read_broker(
    broker: RemoteBroker, topics: Iterable[str], groups: Iterable[str]
) -> tuple[BrokerFacts, str | None]:
    """Return what the broker reports, and the address of its page.

    Raises ``MQClientError``, or ``ProtocolError`` for an answer that cannot be read.
    """
    table, settings = await broker.runtime_info(), await broker.settings()
    queues = await _read_each(broker.topic_queues, topics)
    progress = await _read_each(broker.group_progress, groups)
    page = settings.get("pageAddress", "")
    return _facts(table, settings, queues, progress), page if _PAGE.fullmatch(page) else None


async def _read_each(read: Callable[[str], Awaitable[_Read]], names: Iterable[str]) -> dict[str, _Read]:
    """Return name -> what is read of it. Clients of the engine run before each: its own broker answers at once."""
    found = {}
    for name in names:
        await asyncio.sleep(0)
        found[name] = await read(name)
    return found


def _facts(
    table: Mapping[str, str],
    settings: Mapping[str, str],
    queues: Mapping[str, Sequence[QueueEnds]],
    progress: Mapping[str, Sequence[GroupProgress]],
) -> BrokerFacts:
    topics = {topic: _topic(ends) for topic, ends in queues.items() if ends}
    replicas = [name for name in table if name.startswith(own.REPLICA)][:_REPLICAS_MAX]
    is_glassmq = own.ROLE in table
    return {
        "role": client_text(table.get(own.ROLE) or settings.get("brokerRole", "")),
        "term": _integer(table, own.TERM),
        "is_glassmq": is_glassmq,
        "version": client_text(table.get("brokerVersionDesc", "")),
        "started_us": 1_000 * _integer(table, "bootTimestamp"),
        "in_rate": _rate(table, "putTps"),
        "out_rate": _rate(table, "getTransferedTps"),
        "messages": sum(topic["messages"] for topic in topics.values()),
        "commit_log": {"min": _integer(table, "commitLogMinOffset"), "max": _integer(table, "commitLogMaxOffset")},
        "clients": _integer(table, own.CLIENTS) if is_glassmq else None,
        "held_pulls": _integer(table, own.HELD_PULLS) if is_glassmq else None,
        "replicas_needed": _integer(table, own.REPLICAS_NEEDED),
        "replicas": {client_text(name.removeprefix(own.REPLICA)): _integer(table, name) for name in replicas},
        "following": client_text(table.get(own.FOLLOWING, "")),
        "topics": topics,
        "groups": {group: _lag(queues_of) for group, queues_of in progress.items() if queues_of},
    }


def _topic(ends: Sequence[QueueEnds]) -> BrokerTopic:
    shown = ends[:QUEUES_PER_TOPIC_MAX]
    return {
        "messages": sum(max(0, one.max_offset - one.min_offset) for one in ends),
        "queues": [{"queue_id": one.queue.queue_id, "min": one.min_offset, "max": one.max_offset} for one in shown],
        "omitted_queues": len(ends) - len(shown),
    }


def _lag(progress: Sequence[GroupProgress]) -> int | None:
    return None if any(one.broadcasts for one in progress) else sum(one.lag or 0 for one in progress)


def _integer(table: Mapping[str, str], name: str) -> int:
    """Return an entry; 0 where it is missing or is not an integer that a page can show."""
    text = table.get(name, "")
    value = int(text) if re.fullmatch(r"-?\d{1,16}", text, re.ASCII) else 0
    return value if abs(value) <= EXACT_MAX else 0


def _rate(table: Mapping[str, str], name: str) -> float:
    """Return the first of the rates of an entry, that over 10 s; 0 where it is missing or is not a number."""
    try:
        rate = float(table.get(name, "").split(" ")[0])
    except ValueError:
        return 0.0
    return round(rate, 1) if math.isfinite(rate) else 0.0
