"""What happened to the broker besides its figures: starts, faults, changes of groups. In bounded memory."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from app.foundation.translator import Number, in_all_languages
from app.watch.words import Words, listed

if TYPE_CHECKING:
    from app.picture.consumer_group import ConsumerGroup
    from app.picture.rates import BrokerEvent

#: Events that are kept, and those of them that are part of every picture: the newest.
EVENTS_MAX = 500
EVENTS_SHOWN = 50
#: Groups that one event names.
GROUPS_NAMED = 4

EventKind = Literal["start", "stop", "fault_on", "fault_off", "rebalance"]


class Events:
    """The events. Groups are sampled; starts and faults are reported when they happen. One thread only."""

    def __init__(self) -> None:
        self._kept: deque[BrokerEvent] = deque(maxlen=EVENTS_MAX)
        self._faults: dict[str, Words] = {}
        #: Group -> its members; None before the first sample.
        self._members: dict[str, Counter[str]] | None = None

    def note(self, at_ms: int, kind: EventKind, **words: object) -> None:
        """Keep one event, with the values of its text."""
        text = in_all_languages("live.event." + kind, **words)
        self._kept.append({"at_us": at_ms * 1000, "kind": kind, "text": text})

    def see_faults(self, at_ms: int, faults: Mapping[str, Words]) -> None:
        """Note which faults have begun or ended since the last time. ``faults``: key -> name of each active one."""
        for key in sorted(faults.keys() - self._faults.keys()):
            self.note(at_ms, "fault_on", fault=faults[key])
        for key in sorted(self._faults.keys() - faults.keys()):
            self.note(at_ms, "fault_off", fault=self._faults[key])
        self._faults = dict(faults)

    def see_groups(self, at_ms: int, groups: Mapping[str, ConsumerGroup]) -> None:
        """Note which groups have other members than in the last sample; of a first one nothing is known."""
        now = {name: _members(view) for name, view in groups.items()}
        before, self._members = self._members, now
        if before is None:
            return
        changes = []
        for name in sorted({*before, *now}):
            old, new = before.get(name, Counter()), now.get(name, Counter())
            joined, left = (new - old).total(), (old - new).total()
            if joined or left:
                changes.append(" ".join([name, *([f"+{joined}"] if joined else []), *([f"−{left}"] if left else [])]))
        if changes:
            more = len(changes) - GROUPS_NAMED
            rest = in_all_languages("live.event.more", n=Number(more)) if more > 0 else ""
            self.note(at_ms, "rebalance", groups=listed(changes[:GROUPS_NAMED]), more=rest)

    def newest(self) -> list[BrokerEvent]:
        """Return the events that every picture shows, the oldest first."""
        return [*self._kept][-EVENTS_SHOWN:]

    def between(self, first: int, last: int) -> list[BrokerEvent]:
        """Return the events of the seconds ``first`` to ``last``, since 1970."""
        return [event for event in self._kept if first <= event["at_us"] // 1_000_000 <= last]


def _members(group: ConsumerGroup) -> Counter[str]:
    """Count the members by id; those that the picture leaves out have none."""
    return Counter({**dict.fromkeys(group["members"], 1), "": group.get("omitted_members", 0)})
