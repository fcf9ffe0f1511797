"""Places of numbers in a stream: it is known which batches can hold them, and only these are read again."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from engine.pipeline.jobs.delivery_audit.locating import PLACES_MAX, NumberPlaces, Places, locate
from engine.pipeline.jobs.delivery_audit.summaries import COLUMNS, UNNUMBERED, QueueSegment, narrow

#: Most extents that are remembered, the newest: what is older is not found.
EXTENTS_MAX = 10_000
#: Most batches that are read again for one report; the next one goes on.
BATCHES_PER_REPORT_MAX = 8
log = logging.getLogger("glassmq.pipeline")


class SegmentExtent(NamedTuple):
    """The offsets and numbers between which the messages of a producer are in a queue, in one batch."""

    batch: int
    topic: str
    queue: str
    producer: str
    first_offset: int
    last_offset: int
    lowest: int
    highest: int


class PlaceSearch:
    """Find numbers by the extents of the segments in which they can be.

    :ivar extents: in the order of their batches.
    """

    def __init__(self, read: Callable[..., DataFrame]) -> None:
        """Create a search.

        :param read: returns a batch of messages, like :meth:`~engine.pipeline.jobs.job.JobRun.read`.
        """
        self.extents: deque[SegmentExtent] = deque(maxlen=EXTENTS_MAX)
        self._read = read
        #: (producer, topic) -> number -> the last batch that was searched, and the places up to it.
        self._known: dict[tuple[str, str], dict[int, tuple[int, NumberPlaces]]] = {}

    def add(self, batch: int, segments: Iterable[QueueSegment]) -> None:
        """Note the extents of a batch's segments."""
        for one in segments:
            if one.producer != UNNUMBERED and not one.is_sparse:
                offsets = one.first_offset, one.last_offset
                numbers = one.numbers.minimum, one.highest
                self.extents.append(SegmentExtent(batch, one.topic, one.queue, one.producer, *offsets, *numbers))

    def places(self, wanted: Mapping[tuple[str, str], Sequence[int]]) -> Places:
        """Return the places of the ``wanted`` numbers, as far as they are known or can be read now."""
        unknown = (-1, NumberPlaces())
        self._known = {
            key: {number: self._known.get(key, {}).get(number, unknown) for number in numbers}
            for key, numbers in wanted.items()
        }
        batches: dict[int, list[SegmentExtent]] = {}
        for extent in self.extents:
            if self._unsearched(extent):
                batches.setdefault(extent.batch, []).append(extent)
        for batch in sorted(batches)[:BATCHES_PER_REPORT_MAX]:
            try:
                self._search(batch, batches[batch])
            except PySparkException as error:
                # A node is away: less is known until the next report.
                log.warning("the places of findings are not known: %s", error)
                break
        return {
            key: {number: places for number, (_, places) in numbers.items()} for key, numbers in self._known.items()
        }

    def _unsearched(self, extent: SegmentExtent) -> list[int]:
        """Return the numbers that can be in the extent and were not searched there."""
        numbers = self._known.get((extent.producer, extent.topic), {})
        return [
            number
            for number, (batch, _) in numbers.items()
            if extent.lowest <= number <= extent.highest and batch < extent.batch
        ]

    def _search(self, batch: int, extents: Iterable[SegmentExtent]) -> None:
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        wanted: dict[tuple[str, str], set[int]] = {}
        for one in extents:
            start, end = starts.setdefault(one.topic, {}), ends.setdefault(one.topic, {})
            start[one.queue] = min(one.first_offset, start.get(one.queue, one.first_offset))
            end[one.queue] = max(one.last_offset + 1, end.get(one.queue, 0))
            wanted.setdefault((one.producer, one.topic), set()).update(self._unsearched(one))
        messages = self._read(
            assign=json.dumps({topic: list(queues) for topic, queues in starts.items()}),
            startingOffsets=json.dumps(starts),
            endingOffsets=json.dumps(ends),
            failOnDataLoss="false",
            columns=",".join(COLUMNS),
        )
        found = locate(narrow(messages), {key: sorted(numbers) for key, numbers in wanted.items()})
        for key, numbers in wanted.items():
            for number in numbers:
                before, more = self._known[key][number][1], found.get(key, {}).get(number, NumberPlaces())
                places = NumberPlaces(before.total + more.total, (*before.first, *more.first)[:PLACES_MAX])
                self._known[key][number] = batch, places
