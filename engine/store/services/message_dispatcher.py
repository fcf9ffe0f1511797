"""The dispatcher, which makes messages in the commit log visible by writing consume-queue entries and index keys
(RocketMQ: ``ReputMessageService``, ``CommitLogDispatcherBuildConsumeQueue``, ``CommitLogDispatcherBuildIndex``).

RocketMQ reads every message back from the commit log, about 1 ms after it was written. Here the appending code leaves a
small :class:`DispatchRequest`, and one callback per turn of the event loop handles all requests of that turn. Only
recovery reads the log again. As in RocketMQ, a message becomes visible before it is flushed.
"""

from __future__ import annotations

import asyncio
import contextvars
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

from engine.protocol.byte_strings import BytesWriter, write_i32_be, write_i64_be
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import DiskFault
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES
from engine.store.queues.consume_queue_ext import ConsumeQueueExt, ConsumeQueueExtUnit
from engine.store.queues.consume_queue_table import ConsumeQueueTable
from engine.store.queues.dispatch_request import DispatchRequest, belongs_in_consume_queue
from engine.store.queues.index_service import IndexService

#: A listener for messages that have become visible, in the order of the log.
MessagesArrived = Callable[[Sequence[DispatchRequest]], None]

_RETRY_AFTER_S: Final = 1.0


class MessageDispatcher:
    """A dispatcher that collects requests and carries them out in the order of the log.

    :param on_disk_fault: called when the disk accepts no entries, and with None when it does again.
    :ivar dispatched_offset: everything before it is visible.
    :ivar bit_map_of: creates the bit map of a message for the extension of its queue; None: no bit maps.
    :ivar on_messages_arrived: receives every list of dispatched requests; wakes long polls.
    :ivar hold_back: receives the pending requests, in the order of the log; messages after the offset that it returns
        stay invisible until :meth:`drain` is called again. None: all become visible.
    """

    def __init__(
        self,
        consume_queues: ConsumeQueueTable,
        index: IndexService | None,
        on_disk_fault: Callable[[DiskFault | None], None],
    ) -> None:
        self._consume_queues = consume_queues
        self._index = index
        self._on_disk_fault = on_disk_fault
        self._pending: list[DispatchRequest] = []
        self._is_scheduled = False
        self._has_failed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context: contextvars.Context | None = None
        self.dispatched_offset = 0
        self.bit_map_of: Callable[[DispatchRequest], bytes] | None = None
        self.on_messages_arrived: MessagesArrived | None = None
        self.hold_back: Callable[[Sequence[DispatchRequest]], int] | None = None

    def start(self, tasks: BackgroundTasks) -> None:
        """Start; from now on ``add`` schedules the work on the running event loop."""
        self._loop = asyncio.get_running_loop()
        tasks.lend_context("reput", self._take_context)

    def _take_context(self, context: contextvars.Context) -> None:
        self._context = context

    @property
    def pending_count(self) -> int:
        """Return how many messages wait to become visible."""
        return len(self._pending)

    def add(self, request: DispatchRequest) -> None:
        """Add a message that was appended."""
        self._pending.append(request)
        if not self._is_scheduled:
            self._schedule()

    def add_all(self, requests: Sequence[DispatchRequest]) -> None:
        """Add messages that were appended, one after the other."""
        self._pending += requests
        if not self._is_scheduled:
            self._schedule()

    def _schedule(self) -> None:
        if self._loop is not None:
            self._is_scheduled = True
            self._loop.call_soon(self.drain, context=self._context)

    def drain(self) -> None:
        """Dispatch all pending requests. If the disk fails, the rest waits for a second attempt."""
        self._is_scheduled = False
        requests = self._take()
        if not requests:
            return
        try:
            self.dispatch(requests)
        except DiskFault as fault:
            # Dispatching a request twice changes nothing, so all of them wait. The list cannot grow meanwhile: the
            # store refuses messages until this succeeds.
            self._pending = requests + self._pending
            self._has_failed = True
            self._on_disk_fault(fault)
            if self._loop is not None:
                self._is_scheduled = True
                self._loop.call_later(_RETRY_AFTER_S, self.drain, context=self._context)
            return
        if self._has_failed:
            self._has_failed = False
            self._on_disk_fault(None)
        if self.on_messages_arrived is not None:
            self.on_messages_arrived(requests)

    def _take(self) -> list[DispatchRequest]:
        """Return the pending requests that may become visible."""
        requests, self._pending = self._pending, []
        if self.hold_back is not None and requests:
            limit = self.hold_back(requests)
            count = bisect_right(requests, limit, key=lambda request: request.end_offset)
            requests, self._pending = requests[:count], requests[count:]
        return requests

    def dispatch(self, requests: Sequence[DispatchRequest]) -> None:
        """Write the entries and keys of ``requests``, which are consecutive in the log.

        Raises ``DiskFull``, ``DiskFault``.
        """
        self.put_consume_queue_entries(requests)
        if self._index is not None:
            self._index.put(requests)
        self.dispatched_offset = requests[-1].end_offset

    def put_consume_queue_entries(self, requests: Sequence[DispatchRequest]) -> None:
        """Write the entries of ``requests``, with one write per queue. Raises ``DiskFull``, ``DiskFault``."""
        if len(requests) == 1:
            request = requests[0]
            if belongs_in_consume_queue(request.sys_flag):
                self._put_entries(request.topic, request.queue_id, requests)
            return
        by_queue: dict[tuple[str, int], list[DispatchRequest]] = {}
        group: list[DispatchRequest] = []
        last_topic, last_queue_id = None, -1
        for request in requests:
            topic, queue_id = request.topic, request.queue_id
            if request.sys_flag and not belongs_in_consume_queue(request.sys_flag):
                continue
            if queue_id != last_queue_id or topic != last_topic:
                last_topic, last_queue_id = topic, queue_id
                group = by_queue.setdefault((topic, queue_id), [])
            group.append(request)
        for (topic, queue_id), group in by_queue.items():
            self._put_entries(topic, queue_id, group)

    def _put_entries(self, topic: str, queue_id: int, requests: Sequence[DispatchRequest]) -> None:
        queue = self._consume_queues.get_or_create(topic, queue_id)
        first = requests[0].queue_offset
        writer = BytesWriter()
        for request in requests:
            write_i64_be(writer, request.commit_log_offset)
            write_i32_be(writer, request.size_bytes)
            write_i64_be(writer, request.tags_code if queue.ext is None else self._put_unit(queue.ext, request))
        entries = writer.getvalue()
        if len(requests) == requests[-1].queue_offset - first + 1:
            queue.put_entries(first, entries)
        else:
            for number, request in enumerate(requests):
                entry = entries[number * ENTRY_SIZE_BYTES : (number + 1) * ENTRY_SIZE_BYTES]
                queue.put_entries(request.queue_offset, entry)
        queue.last_store_timestamp = requests[-1].store_timestamp

    def _put_unit(self, ext: ConsumeQueueExt, request: DispatchRequest) -> int:
        bit_map = self.bit_map_of(request) if self.bit_map_of is not None else b""
        return ext.put(ConsumeQueueExtUnit(request.tags_code, request.store_timestamp, bit_map))
