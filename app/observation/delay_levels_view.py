"""The delay levels of a broker, with the queue that each has in SCHEDULE_TOPIC_XXXX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.observation.unix_time import world_us
from engine.protocol.names import SCHEDULE_TOPIC

if TYPE_CHECKING:
    from app.picture.delay_level import DelayLevel, DelayLevels
    from engine.broker.broker import Broker


class DelayLevelsView:
    """Builds the ``delay_levels`` part of a broker's state."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        #: Level -> (what it was made from, view).
        self._levels: dict[int, tuple[tuple[int, int, int], DelayLevel]] = {}
        self._begin_ms = 0
        self._last: DelayLevels | None = None

    def build(self, begin_ms: int = 0) -> DelayLevels | None:
        """Return the levels; the same object as before while nothing has changed, None while no message was ever
        delayed.

        :param begin_ms: time of the broker's clock at which the time of the picture begins.
        """
        if begin_ms != self._begin_ms:
            self._begin_ms, self._levels = begin_ms, {}
        store = self._broker.store
        delays_ms = self._broker.store_config.delay_levels_ms
        levels = [
            self._level(level, delays_ms[level])
            for level in range(1, len(delays_ms))
            if store.max_offset(SCHEDULE_TOPIC, level - 1) > 0
        ]
        if not levels:
            return None
        view: DelayLevels = {"delays_ms": list(delays_ms[1:]), "levels": levels}
        if view != self._last:
            self._last = view
        return self._last

    def _level(self, level: int, delay_ms: int) -> DelayLevel:
        store, service, queue_id = self._broker.store, self._broker.schedule_message_service, level - 1
        minimum = max(0, store.min_offset(SCHEDULE_TOPIC, queue_id))
        maximum = store.max_offset(SCHEDULE_TOPIC, queue_id)
        made_from = (minimum, maximum, max(minimum, service.offset_table.get(level, 0)))
        known = self._levels.get(level)
        if known is None or known[0] != made_from:
            offset = made_from[2]
            # The tags code of such an entry is the time at which it is due.
            entries = store.consume_queue_entries(SCHEDULE_TOPIC, queue_id, offset, 1)
            view: DelayLevel = {
                "level": level,
                "delay_ms": delay_ms,
                "queue_id": queue_id,
                "min": minimum,
                "max": maximum,
                "offset": offset,
                "waiting": max(0, maximum - offset),
                "next_due_us": world_us(entries[0][2], self._begin_ms) if entries else None,
            }
            known = self._levels[level] = (made_from, view)
        return known[1]
