"""Sequence numbers for the messages of one producer, and a record of their outcomes. Not in RocketMQ.

The number is assigned just before sending: after all checks, before the first attempt. Numbers are per producer and
*topic*, not per queue: a retry may go to another queue, and the number would then be missing in the first queue
forever. All attempts carry the same number, so that a message which was stored twice is found twice under one number. A
message that the application sends again, because it failed, keeps its number as it keeps its unique id.

For readers: the numbers in one queue ascend with gaps; over all queues together there are no gaps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import TypeVar

from engine.client.callbacks.send_result import SendResult, SendStatus
from engine.client.foundation.errors import MQClientError
from engine.protocol.message.numbering_ledger import (
    LEDGER_RANGES_MAX,
    PRODUCER_ID_PROPERTY,
    SEQUENCE_NUMBER_PROPERTY,
    NumberingLedger,
    NumberRange,
    sequence_number_of,
)

_Result = TypeVar("_Result")


class MessageNumbering:
    """The numbers of one run of one producer.

    :ivar producer_id: the id in each message (:mod:`engine.protocol.message.numbering_ledger`).
    """

    def __init__(self, producer_id: str) -> None:
        self.producer_id = producer_id
        self._topics: dict[str, _TopicNumbers] = {}

    def number(self, topic: str, properties: Sequence[dict[str, str]]) -> list[int]:
        """Number the messages of one send: the next numbers are written into their ``properties``."""
        numbers_of_topic = self._topics.setdefault(topic, _TopicNumbers())
        numbers = []
        for of_message in properties:
            number = sequence_number_of(of_message, self.producer_id)
            if number is None:
                number = numbers_of_topic.next
                numbers_of_topic.next += 1
                of_message[PRODUCER_ID_PROPERTY] = self.producer_id
                of_message[SEQUENCE_NUMBER_PROPERTY] = str(number)
            else:
                numbers_of_topic.sent_again[number] = None
            numbers.append(number)
        return numbers

    async def note(self, topic: str, numbers: Sequence[int], sending: Awaitable[_Result]) -> _Result:
        """Await ``sending`` and record its outcome for ``numbers``."""
        of_topic = self._topics[topic]
        of_topic.begun(numbers)
        is_known = False
        try:
            result = await sending
            if isinstance(result, SendResult) and result.status is SendStatus.SEND_OK:
                of_topic.acknowledged(numbers)
                is_known = True
        except MQClientError as error:
            if error.outcome_is_known:
                of_topic.refused.add(numbers)
                is_known = True
            raise
        finally:
            if not is_known:
                of_topic.unknown.add(numbers)
            of_topic.ended(numbers)
        return result

    def is_not_stored(self, topic: str, numbers: Sequence[int]) -> None:
        """Record numbers whose messages were not stored, or were rolled back."""
        self._topics[topic].unknown.discard(numbers)
        self._topics[topic].refused.add(numbers)

    def is_unknown(self, topic: str, numbers: Sequence[int]) -> None:
        """Record numbers with an unknown outcome."""
        self._topics[topic].unknown.add(numbers)

    def ledgers(self) -> Iterator[NumberingLedger]:
        """Yield one ledger per topic with the current state; sends in progress count as unknown."""
        for topic, numbers in self._topics.items():
            yield numbers.ledger(self.producer_id, topic)


class _TopicNumbers:
    def __init__(self) -> None:
        self.next = 0
        self.refused = NumberRanges()
        self.unknown = NumberRanges()
        #: Numbers of messages that the application sends again.
        self.sent_again: dict[int, None] = {}
        self._under_way: dict[int, None] = {}

    def begun(self, numbers: Sequence[int]) -> None:
        self._under_way.update(dict.fromkeys(numbers))

    def ended(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._under_way.pop(number, None)
            self.sent_again.pop(number, None)

    def acknowledged(self, numbers: Sequence[int]) -> None:
        """Record numbers that failed before and are stored now."""
        again = [number for number in numbers if number in self.sent_again]
        self.refused.discard(again)
        self.unknown.discard(again)

    def ledger(self, producer_id: str, topic: str) -> NumberingLedger:
        unknown = NumberRanges(self.unknown.ranges())
        unknown.add(sorted(self._under_way))
        is_complete = self.refused.is_complete and self.unknown.is_complete and unknown.is_complete
        return NumberingLedger(
            producer_id, topic, self.next, self.refused.ranges(), unknown.ranges(), is_complete=is_complete
        )


class NumberRanges:
    """A set of mostly consecutive numbers, with at most ``LEDGER_RANGES_MAX`` ranges.

    :ivar is_complete: False once a number did not fit.
    """

    def __init__(self, ranges: Sequence[NumberRange] = ()) -> None:
        self.is_complete = True
        self._ranges = list(ranges)

    def ranges(self) -> tuple[NumberRange, ...]:
        """Return the ranges, ascending, with a gap between any two."""
        self._merge()
        return tuple(self._ranges)

    def add(self, numbers: Sequence[int]) -> None:
        """Add ``numbers``, in any order."""
        for number in numbers:
            if self._ranges and self._ranges[-1][1] == number - 1:
                self._ranges[-1] = (self._ranges[-1][0], number)
            else:
                self._ranges.append((number, number))
        # Twice the size, so that sorting is rare.
        if len(self._ranges) > 2 * LEDGER_RANGES_MAX:
            self._merge()

    def discard(self, numbers: Sequence[int]) -> None:
        """Remove those of ``numbers`` that are in the set."""
        if numbers:
            self._merge()
        for number in numbers:
            for index, (first, last) in enumerate(self._ranges):
                if first <= number <= last:
                    rest = ((first, number - 1), (number + 1, last))
                    self._ranges[index : index + 1] = [part for part in rest if part[0] <= part[1]]
                    break

    def _merge(self) -> None:
        merged: list[NumberRange] = []
        for first, last in sorted(self._ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], last))
            else:
                merged.append((first, last))
        if len(merged) > LEDGER_RANGES_MAX:
            self.is_complete = False
        self._ranges = merged[:LEDGER_RANGES_MAX]
