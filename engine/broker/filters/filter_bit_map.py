"""The bit map of a message, made when it becomes visible (RocketMQ: ``CommitLogDispatcherCalcBitMap``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.filters.expression_message_filter import properties_of
from engine.filter.bloom_filter import set_bits
from engine.store.queues.dispatch_request import DispatchRequest


@dataclass(frozen=True)
class FilterBitMap:
    """Evaluates every group's expression once per message, so that the group's pulls need not.

    :param read_record: reads the stored message at (commit-log offset, size).
    """

    filters: ConsumerFilterManager
    read_record: Callable[[int, int], bytes | None]

    def bit_map_of(self, request: DispatchRequest) -> bytes:
        """Return the bit map of one message; empty if no group filters its topic."""
        filters = self.filters.of_topic(request.topic)
        if not filters:
            return b""
        record = self.read_record(request.commit_log_offset, request.size_bytes)
        if record is None:
            return b""
        properties = properties_of(record)
        bit_map = self.filters.bloom_filter.empty_map()
        for data in filters:
            if data.bloom is not None and data.compiled.matches(properties):
                set_bits(bit_map, data.bloom)
        return bytes(bit_map)
