"""A puller of ranges of offsets from one broker, with several pulls in flight.

A broker returns 32 messages per pull unless it is configured differently, and with one request at a time both sides
would wait for the network most of the time. Offsets are dense, so the next requests are known before the answers: a
range is cut into segments of about as many messages as the broker returns, and their pulls are sent ahead. What a
broker leaves out of a segment (its limit in bytes) is requested again. With a tag filter the broker decides how far a
pull gets, and only different ranges are pulled concurrently.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.pipeline.source.cluster.cluster import Cluster, broker_away
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.node_client import (
    BUSY_CODES,
    BUSY_PAUSE_MS,
    BUSY_RETRIES,
    PULL_BYTES,
    UNREACHABLE,
    NodeClient,
    refusal,
)
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.reader.offset_range import OffsetRange
from engine.pipeline.source.reader.options import ReadOptions
from engine.protocol.body.question import look
from engine.protocol.command.pull_message_headers import PullMessageResponseHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import MalformedHeader
from engine.protocol.response_code import ResponseCode

_log = logging.getLogger("glassmq.pipeline")

#: Pulls in flight, and the total size of their answers: this bounds what waits in memory.
_PULLS_AHEAD_MAX = 16
_BYTES_AHEAD_MAX = 16 * 1024 * 1024
#: Segments that have begun: they are requested, or wait for an earlier one.
_SEGMENTS_MAX = 32
#: Most messages that one pull requests.
_ASKED_MAX = 4_096
#: After this many answers that were as long as requested, the requested number is doubled.
_GROW_AFTER = 8
#: How often in a row a lost broker is looked for, half a minute in all; the first pause doubles up to the longest.
_RECONNECTS = 10
_RECONNECT_PAUSE_S, _RECONNECT_PAUSE_MAX_S = 0.25, 4.0
#: Status of a broker that deleted messages while it read (RocketMQ: ``GetMessageStatus``).
_WAS_REMOVING = "MESSAGE_WAS_REMOVING"


class PulledRange(NamedTuple):
    """Result of one pull: stored messages of offsets ``begin`` to ``end - 1``, all of them unless tags filter."""

    queue: QueueKey
    begin: int
    end: int
    body: bytes


@dataclass(slots=True, eq=False)
class _Segment:
    """Part of a range, pulled by one request or by several in sequence."""

    queue: QueueKey
    next_offset: int
    end: int
    asked: int = 0
    busy_answers: int = 0
    pulled: list[PulledRange] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return self.next_offset >= self.end


class RangePuller:
    """Read some ranges of one broker, in order."""

    def __init__(self, options: ReadOptions, ranges: Sequence[OffsetRange], tags: tuple[str, ...]) -> None:
        self._options = options
        self._tags = tags
        self._broker_name = ranges[0].queue.broker_name
        self._ranges = deque(ranges)
        self._client = NodeClient(ranges[0].address, options.cluster)
        self._segments: deque[_Segment] = deque()
        self._asked: dict[int, _Segment] = {}
        self._step = _ASKED_MAX
        self._full_answers = 0
        self._largest_answer_bytes = 0
        self._failures = 0
        self._waiting_bytes = 0

    def pull(self) -> Iterator[PulledRange]:
        """Yield all messages, range by range. Raises :class:`RocketMQError`."""
        try:
            while self._segments or self._ranges:
                if self._segments and (self._segments[0].pulled or self._segments[0].is_done):
                    yield from self._take_from_first()
                else:
                    self._exchange()
        finally:
            self._client.close()

    def _take_from_first(self) -> Iterator[PulledRange]:
        first = self._segments[0]
        pulled, first.pulled = first.pulled, []
        self._waiting_bytes -= sum(len(answer.body) for answer in pulled)
        if first.is_done:
            self._segments.popleft()
        yield from pulled

    # --- requests ----------------------------------------------------------------------------------------------------

    def _exchange(self) -> None:
        """Send the requests that are allowed, and handle one answer."""
        try:
            self._ask(self._segments_to_ask())
            answer = self._client.receive()
        except UNREACHABLE as failure:
            self._reconnect(failure)
            return
        self._failures = 0
        self._handle(self._asked.pop(answer.opaque), answer)

    def _segments_to_ask(self) -> list[_Segment]:
        """Return the first segment always; others, and new ones, as long as what waits for the first is not too
        much.
        """
        asked = set(self._asked.values())
        room = self._pulls_ahead - len(asked)
        has_room_for_bytes = self._waiting_bytes < _BYTES_AHEAD_MAX
        chosen: list[_Segment] = []
        for segment in self._segments:
            if len(chosen) < room and not segment.is_done and segment not in asked:
                chosen.append(segment)
            if not has_room_for_bytes:
                break
        while self._ranges and len(chosen) < room and has_room_for_bytes and len(self._segments) < _SEGMENTS_MAX:
            chosen.append(self._new_segment())
        return chosen

    def _new_segment(self) -> _Segment:
        item = self._ranges.popleft()
        end = item.end if self._tags else min(item.end, item.start + self._step)
        if end < item.end:
            self._ranges.appendleft(item._replace(start=end))
        segment = _Segment(item.queue, item.start, end)
        self._segments.append(segment)
        return segment

    @property
    def _pulls_ahead(self) -> int:
        """Return the number of pulls in flight: one until the first answer has shown how many messages the broker
        returns.
        """
        if self._largest_answer_bytes or self._tags:
            return max(2, min(_PULLS_AHEAD_MAX, _BYTES_AHEAD_MAX // (self._largest_answer_bytes or 1)))
        return 1

    def _ask(self, segments: Sequence[_Segment]) -> None:
        if not segments:
            return
        requests = []
        group = self._options.consumer_group
        for segment in segments:
            segment.asked = _ASKED_MAX if self._tags else min(_ASKED_MAX, segment.end - segment.next_offset)
            asked = look(
                segment.queue, segment.next_offset, segment.asked, group=group, tags=self._tags, max_bytes=PULL_BYTES
            )
            requests.append(asked.request())
        self._asked |= zip(self._client.send(requests), segments, strict=True)

    def _reconnect(self, failure: BaseException) -> None:
        """Find the broker again; unanswered requests are repeated by the next exchange."""
        self._failures += 1
        queue = self._segments[0].queue
        if self._failures > _RECONNECTS:
            raise broker_away(queue.topic, self._broker_name, failure) from failure
        self._client.close()
        self._asked.clear()
        time.sleep(min(_RECONNECT_PAUSE_S * 2 ** (self._failures - 1), _RECONNECT_PAUSE_MAX_S))
        # No name server, or no master yet: the last good address is tried again.
        with closing(Cluster(self._options.cluster)) as cluster, suppress(RocketMQError):
            self._client = NodeClient(cluster.refresh_master(queue.topic, self._broker_name), self._options.cluster)

    # --- answers -----------------------------------------------------------------------------------------------------

    def _handle(self, segment: _Segment, answer: RemotingCommand) -> None:
        code = answer.code
        if segment.is_done:
            return  # its topic is deleted
        if code in BUSY_CODES and segment.busy_answers < BUSY_RETRIES:
            time.sleep(BUSY_PAUSE_MS * 2**segment.busy_answers / 1_000)
            segment.busy_answers += 1
        elif code == ResponseCode.SUCCESS:
            self._found(segment, answer)
        elif code == ResponseCode.PULL_RETRY_IMMEDIATELY:
            header = _header(answer)
            if not self._tags or answer.remark == _WAS_REMOVING:
                self._lost(segment, header)
            segment.next_offset = max(segment.next_offset + 1, header.next_begin_offset)
        elif code in (ResponseCode.PULL_OFFSET_MOVED, ResponseCode.PULL_NOT_FOUND):
            self._moved(segment, _header(answer))
        elif code == ResponseCode.TOPIC_NOT_EXIST and not self._options.fail_on_data_loss:
            self._skip_queue(segment)
        else:
            raise refusal(segment.queue.topic, self._client.address, answer)

    def _skip_queue(self, gone: _Segment) -> None:
        """Leave out the rest of a queue whose topic is deleted."""
        report_loss(
            False, gone.queue, f"its topic is deleted, so its messages from offset {gone.next_offset} on are lost"
        )
        self._ranges = deque(item for item in self._ranges if item.queue != gone.queue)
        for segment in self._segments:
            if segment.queue == gone.queue:
                segment.next_offset = segment.end

    def _found(self, segment: _Segment, answer: RemotingCommand) -> None:
        begin, end = segment.next_offset, _header(answer).next_begin_offset
        if end <= begin:
            raise refusal(segment.queue.topic, self._client.address, answer)
        segment.pulled.append(PulledRange(segment.queue, begin, min(end, segment.end), answer.body))
        segment.next_offset = end
        segment.busy_answers = 0
        self._waiting_bytes += len(answer.body)
        self._largest_answer_bytes = max(self._largest_answer_bytes, len(answer.body))
        if not self._tags:
            self._learn(segment.asked, end - begin)
            if segment.end - end > self._step and segment is self._segments[-1]:
                # The broker returns fewer than expected: the rest becomes segments of the right size.
                self._ranges.appendleft(OffsetRange(segment.queue, self._client.address, end, segment.end))
                segment.end = end

    def _learn(self, asked: int, given: int) -> None:
        """Learn how many messages the broker returns per pull: it may differ between the log's newest part and older
        ones.
        """
        if given < asked:
            self._step, self._full_answers = given, 0
            return
        self._full_answers += 1
        if self._full_answers >= _GROW_AFTER and self._step < _ASKED_MAX:
            self._step, self._full_answers = min(_ASKED_MAX, self._step * 2), 0

    def _moved(self, segment: _Segment, header: PullMessageResponseHeader) -> None:
        """Handle a queue that holds other offsets than when the read was planned, or cannot find its own messages
        (RocketMQ: ``OFFSET_FOUND_NULL``, a missing index file).
        """
        self._lost(segment, header)
        if segment.next_offset < header.min_offset:
            segment.next_offset = min(header.min_offset, segment.end)
        elif segment.next_offset < header.max_offset:
            segment.next_offset = max(segment.next_offset + 1, header.next_begin_offset)
        else:
            segment.next_offset = segment.end

    def _lost(self, segment: _Segment, header: PullMessageResponseHeader) -> None:
        wanted, held = segment.next_offset, f"the queue holds {header.min_offset} to {header.max_offset - 1}"
        if header.min_offset <= wanted < header.max_offset:
            text = f"the broker finds nothing at offset {wanted}, although {held}"
        else:
            text = f"offset {wanted} is wanted (up to {segment.end - 1}), {held}"
        report_loss(self._options.fail_on_data_loss, segment.queue, text)


def report_loss(fails: bool, queue: QueueKey, text: str) -> None:
    """Report that messages are gone: raise ``ROCKETMQ_OFFSETS_GONE``, or log it if the user prefers to continue."""
    if fails:
        raise RocketMQError(
            "ROCKETMQ_OFFSETS_GONE",
            f"topic {queue.topic!r} queue {queue.label}: {text}; set the option failOnDataLoss to false to read "
            "what is left",
        )
    _log.warning("topic %s queue %s: %s; the read continues with what is left", queue.topic, queue.label, text)


def _header(answer: RemotingCommand) -> PullMessageResponseHeader:
    try:
        return PullMessageResponseHeader.decode(answer.ext_fields)
    except MalformedHeader as error:
        raise RocketMQError(
            "ROCKETMQ_BROKEN_MESSAGE", f"the broker's answer to a pull cannot be read: {error}"
        ) from error
