"""Counts of tags or keys, added up from the lists of the most frequent ones of each window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Different items of a topic that are summed; beyond this, the rarest are dropped.
ITEMS_MAX = 1_000


@dataclass(slots=True)
class ItemCount:
    """A tag or key over all windows.

    :ivar peak_share: its share in the window where it was most frequent, ``peak_ms``.
    :ivar cut_lists: in how many incomplete lists it was.
    :ivar is_whole: False if it may have been dropped before.
    """

    messages: int = 0
    peak_share: float = 0.0
    peak_ms: int = 0
    cut_lists: int = 0
    is_whole: bool = True


@dataclass(slots=True)
class ItemCounts:
    """The tags, or keys, of one topic.

    :ivar cut_lists: how many windows had more of them than were listed.
    :ivar are_exact: whether every window counted exactly.
    """

    items: dict[str | None, ItemCount] = field(default_factory=dict)
    cut_lists: int = 0
    are_exact: bool = True
    _has_dropped: bool = False

    def add(
        self, counts: Mapping[str | None, int], messages: int, start_ms: int, *, are_exact: bool, are_all: bool
    ) -> None:
        """Add the list of one window.

        :param messages: of the window.
        :param are_all: whether the window had no other items.
        """
        self.are_exact &= are_exact
        self.cut_lists += not are_all
        for name, count in counts.items():
            item = self.items.setdefault(name, ItemCount(is_whole=not self._has_dropped))
            item.messages += count
            item.cut_lists += not are_all
            if count / messages > item.peak_share:
                item.peak_share, item.peak_ms = count / messages, start_ms
        if len(self.items) > ITEMS_MAX:
            self._has_dropped = True
            for name in sorted(self.items, key=lambda name: self.items[name].messages)[
                : len(self.items) - ITEMS_MAX // 2
            ]:
                del self.items[name]

    def top(self, count: int) -> list[tuple[str | None, ItemCount]]:
        """Return the most frequent items."""
        return sorted(self.items.items(), key=lambda item: (-item[1].messages, str(item[0])))[:count]

    def is_exact(self, item: ItemCount) -> bool:
        """Return whether the item's count is that of all its messages: it was in every list that is not complete."""
        return self.are_exact and item.is_whole and item.cut_lists == self.cut_lists
