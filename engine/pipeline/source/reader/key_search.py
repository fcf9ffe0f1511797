"""The option ``key``: the index of a broker finds the messages (RocketMQ: ``QUERY_MESSAGE``, code 12).

The index has hashes of keys, and times to the second. A broker returns the newest messages only, so older ones are
requested with the oldest time found as the end. Other messages with the same hash are left to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import groupby

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.stored_batch import StoredBatch, message_starts
from engine.pipeline.source.reader.offset_range import OffsetRange
from engine.pipeline.source.reader.options import ReadOptions
from engine.pipeline.source.reader.range_puller import PulledRange
from engine.protocol.body.question import messages_called
from engine.protocol.response_code import ResponseCode

#: Most messages of one answer (RocketMQ: ``maxMsgsNumBatch``).
_PAGE_MAX = 64
#: For each answer RocketMQ walks over all newer messages of the key again.
_PAGES_MAX = 100
#: Commit-log offset -> queue id, queue offset and stored message.
_Records = dict[int, tuple[int, int, bytes]]


def find_key(options: ReadOptions, ranges: Sequence[OffsetRange], key: str) -> list[PulledRange] | None:
    """Return the messages of these ranges of one broker that have the key, and others that share its hash.

    Returns None if the index cannot give all of them: there are too many, or too many in one second.
    """
    found: list[PulledRange] = []
    with closing(Cluster(options.cluster)) as cluster:
        for _, of_topic in groupby(ranges, key=lambda item: item.queue.topic):
            items = list(of_topic)
            records = _search(cluster, items[0].queue, key)
            if records is None:
                return None
            for queue, _, start, end in items:
                inside = [
                    (offset, data)
                    for queue_id, offset, data in records.values()
                    if queue_id == queue.queue_id and start <= offset < end
                ]
                if inside:
                    found.append(PulledRange(queue, start, end, b"".join(data for _, data in sorted(inside))))
    return found


def _search(cluster: Cluster, queue: QueueKey, key: str) -> _Records | None:
    """Return all messages that the index of the queue's broker has for a key of its topic; None if it cannot."""
    cluster.refresh_master(queue.topic, queue.broker_name)
    found: _Records = {}
    end_ms: int | None = None
    for _ in range(_PAGES_MAX):
        asked = messages_called(queue.topic, key, _PAGE_MAX, end_ms=end_ms)
        data = cluster.ask_queue(queue, asked, without=(ResponseCode.QUERY_NOT_FOUND,))
        if data is None:
            return found
        starts = message_starts(data)
        batch = StoredBatch(data, starts)
        known = len(found)
        columns = [batch.number(name).tolist() for name in ("commit_log_offset", "queue_id", "queue_offset")]
        for place, queue_id, offset, start, end in zip(*columns, starts, [*starts[1:], len(data)], strict=True):
            found[place] = queue_id, offset, data[start:end]
        if len(starts) < _PAGE_MAX:
            return found
        if len(found) == known:
            return None
        end_ms = int(batch.number("store_timestamp").min())
    return None
