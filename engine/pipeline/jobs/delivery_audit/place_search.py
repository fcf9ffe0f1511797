"""Places of numbers in a stream: it is known which batches can hold them, and only these are read again.

This is a comfort: it never ends an audit, and delays it only by what one report may read.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from engine.pipeline.jobs.delivery_audit.locating import PLACES_MAX, NumberPlaces, Places, locate
from engine.pipeline.jobs.delivery_audit.summaries import COLUMNS, UNNUMBERED, QueueSegment, narrow
from engine.texts import Text

#: Most extents that are remembered, the newest: what is older is not found.
EXTENTS_MAX = 10_000
#: Most batches that are read again for one report, and messages after which no further batch is; the next one goes on.
BATCHES_PER_REPORT_MAX = 8
MESSAGES_PER_REPORT_MAX = 1_000_000
#: After this many failures a batch is left out.
FAILURES_MAX = 3
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

    def can_hold(self, number: int) -> bool:
        """Return whether the number is between the lowest and the highest."""
        return self.lowest <= number <= self.highest


@dataclass(slots=True)
class _SearchedNumber:
    """The places of a number that were found, and the batches that can hold it and were not read for it."""

    unread: set[int]
    total: int = 0
    first: tuple[Text, ...] = ()


class PlaceSearch:
    """Find numbers by the extents of the segments in which they can be.

    :ivar extents: in the order of their batches.
    """

    def __init__(self, read: Callable[..., DataFrame], stop: threading.Event) -> None:
        """Create a search.

        :param read: returns a batch of messages, like :meth:`~engine.pipeline.jobs.job.JobRun.read`.
        :param stop: when it is set, no further batch is read.
        """
        self.extents: deque[SegmentExtent] = deque(maxlen=EXTENTS_MAX)
        self._read = read
        self._stop = stop
        #: (producer, topic) -> number -> what is known about it.
        self._known: dict[tuple[str, str], dict[int, _SearchedNumber]] = {}
        #: Batch -> failures to read it.
        self._failures: Counter[int] = Counter()

    def add(self, batch: int, segments: Iterable[QueueSegment]) -> None:
        """Note the extents of a batch's segments."""
        for one in segments:
            if one.producer != UNNUMBERED and not one.is_sparse:
                offsets = one.first_offset, one.last_offset
                numbers = one.numbers.minimum, one.highest
                extent = SegmentExtent(batch, one.topic, one.queue, one.producer, *offsets, *numbers)
                self.extents.append(extent)
                for number, known in self._known.get((one.producer, one.topic), {}).items():
                    if extent.can_hold(number):
                        known.unread.add(batch)

    def places(self, wanted: Mapping[tuple[str, str], Sequence[int]]) -> Places:
        """Return the places of the ``wanted`` numbers, as far as they are known or can be read now."""
        self._known = {
            key: {number: self._known.get(key, {}).get(number) or self._unknown(key, number) for number in numbers}
            for key, numbers in wanted.items()
        }
        messages = 0
        for batch in self._unread()[:BATCHES_PER_REPORT_MAX]:
            if self._stop.is_set() or messages >= MESSAGES_PER_REPORT_MAX:
                break
            try:
                messages += self._search(batch)
            except (PySparkException, Py4JError) as error:
                # A node may be away, which can take long to find out: the next report begins with other batches.
                log.warning("the places of findings in batch %s are not known: %s", batch, error)
                self._failures[batch] += 1
                break
        has_all = len(self.extents) < EXTENTS_MAX
        return {
            key: {
                number: NumberPlaces(one.total, one.first, has_all and not one.unread)
                for number, one in numbers.items()
            }
            for key, numbers in self._known.items()
        }

    @property
    def has_more(self) -> bool:
        """Return whether another report would read further batches for the same numbers."""
        return bool(self._unread())

    def _unknown(self, key: tuple[str, str], number: int) -> _SearchedNumber:
        extents = (one for one in self.extents if (one.producer, one.topic) == key and one.can_hold(number))
        return _SearchedNumber({extent.batch for extent in extents})

    def _unread(self) -> list[int]:
        """Return the batches to read, those that never failed first, older ones first."""
        unread = {batch for numbers in self._known.values() for one in numbers.values() for batch in one.unread}
        unread &= {extent.batch for extent in self.extents}
        left = [batch for batch in unread if self._failures[batch] < FAILURES_MAX]
        return sorted(left, key=lambda batch: (self._failures[batch], batch))

    def _search(self, batch: int) -> int:
        """Read a batch where it can hold unread numbers; return how many messages that are at most."""
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        wanted: dict[tuple[str, str], set[int]] = {}
        for one in self.extents:
            key = one.producer, one.topic
            known = self._known.get(key, {}).items() if one.batch == batch else ()
            numbers = {number for number, of_number in known if batch in of_number.unread and one.can_hold(number)}
            if numbers:
                start, end = starts.setdefault(one.topic, {}), ends.setdefault(one.topic, {})
                start[one.queue] = min(one.first_offset, start.get(one.queue, one.first_offset))
                end[one.queue] = max(one.last_offset + 1, end.get(one.queue, 0))
                wanted.setdefault(key, set()).update(numbers)
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
                before, more = self._known[key][number], found.get(key, {}).get(number, NumberPlaces())
                before.unread.discard(batch)
                before.total += more.total
                before.first = (*before.first, *more.first)[:PLACES_MAX]
        return sum(end - starts[topic][queue] for topic, queues in ends.items() for queue, end in queues.items())
