"""Pulls that wait for a message (RocketMQ: ``PullRequestHoldService``, ``NotifyMessageArrivingListener``).

A pull that finds nothing new is parked under its queue instead of being answered. Three events end the wait: the
dispatcher reports a message that matches the pull's filter; the scan every 5 s finds that the queue has grown; or the
client's timeout has passed (also noticed by the scan, so up to 5 s late). Then the pull runs again from the start,
without being parked a second time.

Simplified: the pull runs in the next turn of the event loop instead of on a thread pool. One turn dispatches all
messages that came in together, so a pull wakes once for all of them.

Added: the number of parked pulls and the size of their contents are bounded; those of closed connections are dropped at
the next scan. One message may wake a hundred thousand: a turn of the loop answers some of each connection's and leaves
the rest to the next turns; a connection that does not read gets no more until it has read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from engine.protocol.command.headers import PullMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.remoting.channel import Channel
from engine.runtime.port import Clock
from engine.store.queues.dispatch_request import DispatchRequest, belongs_in_consume_queue
from engine.store.reading.message_filter import MessageFilter

#: The number of woken pulls that one turn of the loop answers, about 2 ms of small ones ...
_WOKEN_PER_TURN = 64
#: ... this many of each connection before the next one's ...
_WOKEN_PER_CONNECTION = 16
#: ... and this many bytes of messages.
_WOKEN_BYTES_PER_TURN = 1024 * 1024
#: How often a connection that has woken pulls but does not read is checked.
_NO_ROOM_CHECK_MS = 50
#: The maximum number of characters in the subscriptions of all parked pulls together; one may have up to a million.
_HELD_TEXT_MAX = 16 * 1024 * 1024


@dataclass(slots=True)
class HeldPullRequest:
    """One parked pull (RocketMQ: ``PullRequest`` of package ``longpolling``).

    ``suspend_timestamp`` (ms) is when it was parked, ``timeout_ms`` how long it may wait; ``pull_from_this_offset`` is
    the offset that the queue must pass to wake it.
    """

    channel: Channel
    request: RemotingCommand
    header: PullMessageRequestHeader
    message_filter: MessageFilter | None
    suspend_timestamp: int
    timeout_ms: int
    pull_from_this_offset: int


@dataclass(eq=False)
class PullRequestHoldService:
    """The parked pulls of every (topic, queue id), in the order of their arrival.

    :param clock: for timeouts.
    :param max_offset: the offset that the next message of (topic, queue id) will get.
    :param execute: runs a pull again, answers it, and returns how many bytes of messages it got.
    :param read_record: reads the stored message at (commit-log offset, size), which some filters need.
    :param max_held: the maximum number of parked pulls.
    """

    clock: Clock
    max_offset: Callable[[str, int], int]
    execute: Callable[[HeldPullRequest], int]
    read_record: Callable[[int, int], bytes | None]
    max_held: int = 100_000

    def __post_init__(self) -> None:
        self._table: dict[tuple[str, int], list[HeldPullRequest]] = {}
        #: Woken pulls in the order in which they woke.
        self._woken: list[HeldPullRequest] = []
        #: Woken pulls that did not fit into one turn, or whose connection must read first; the next one is in front.
        self._backlog: dict[Channel, deque[HeldPullRequest]] = {}
        self._is_catching_up = False
        self._count = 0
        self._text_length = 0

    def __len__(self) -> int:
        return self._count

    def held(self) -> Iterator[HeldPullRequest]:
        """Yield all parked pulls that were not woken yet."""
        for requests in self._table.values():
            yield from requests

    def suspend_pull_request(self, pull: HeldPullRequest) -> bool:
        """Park ``pull``; return False if there is no room, so that it must be answered now."""
        text_length = len(pull.header.subscription or "")
        if self._count >= self.max_held or self._text_length + text_length > _HELD_TEXT_MAX:
            return False
        self._text_length += text_length
        self._table.setdefault((pull.header.topic, pull.header.queue_id), []).append(pull)
        self._count += 1
        return True

    def notify_messages_arriving(self, requests: Iterable[DispatchRequest]) -> None:
        """Handle messages that the dispatcher made visible."""
        for request in requests:
            if not self._table:
                return
            if belongs_in_consume_queue(request.sys_flag):
                self.notify_message_arriving(request.topic, request.queue_id, request.queue_offset + 1, request)

    def notify_message_arriving(
        self, topic: str, queue_id: int, max_offset: int, arrival: DispatchRequest | None
    ) -> None:
        """Handle growth of the queue to ``max_offset``: by the message ``arrival`` or, if None, by any messages."""
        key = (topic, queue_id)
        requests = self._table.get(key)
        if requests is None:
            return
        now_ms = self.clock.now_ms()
        verdicts: dict[MessageFilter, bool] = {}
        remaining = [pull for pull in requests if not self._wake(pull, max_offset, arrival, now_ms, verdicts)]
        if remaining:
            self._table[key] = remaining
        else:
            del self._table[key]

    def wake_topic(self, topic: str) -> None:
        """Have every pull of ``topic`` run again and be answered, because the topic was deleted."""
        for key in [key for key in self._table if key[0] == topic]:
            for pull in self._table.pop(key):
                self._run_soon(pull)

    def check_hold_request(self) -> None:
        """Run the scan that is due every 5 s."""
        for topic, queue_id in list(self._table):
            self.notify_message_arriving(topic, queue_id, self.max_offset(topic, queue_id), None)

    def _wake(
        self,
        pull: HeldPullRequest,
        max_offset: int,
        arrival: DispatchRequest | None,
        now_ms: int,
        verdicts: dict[MessageFilter, bool],
    ) -> bool:
        """Wake ``pull`` if possible and return True if it need not stay; it runs soon unless its connection is gone.

        :param verdicts: the results of filters for ``arrival``; all waiting pulls of a group have equal filters.
        """
        if not pull.channel.is_open:
            self._let_go(pull)
            return True
        has_news = max_offset > pull.pull_from_this_offset and (
            arrival is None or pull.message_filter is None or self._is_wanted(pull.message_filter, arrival, verdicts)
        )
        if not has_news and now_ms < pull.suspend_timestamp + pull.timeout_ms:
            return False
        self._run_soon(pull)
        return True

    def _is_wanted(
        self, message_filter: MessageFilter, arrival: DispatchRequest, verdicts: dict[MessageFilter, bool]
    ) -> bool:
        if not message_filter.matches_consume_queue(arrival.tags_code, None):
            return False
        if not message_filter.reads_message:
            return True
        verdict = verdicts.get(message_filter)
        if verdict is None:
            record = self.read_record(arrival.commit_log_offset, arrival.size_bytes)
            verdict = verdicts[message_filter] = record is None or message_filter.matches_commit_log(record)
        return verdict

    def _run_soon(self, pull: HeldPullRequest) -> None:
        if not self._woken:
            asyncio.get_running_loop().call_soon(self._execute_woken)
        self._woken.append(pull)

    def _execute_woken(self) -> None:
        """Answer the pulls that woke in the last turn, in order; the surplus joins the backlog."""
        woken, self._woken = self._woken, []
        are_few, bytes_left = len(woken) <= _WOKEN_PER_TURN, _WOKEN_BYTES_PER_TURN
        for pull in woken:
            if are_few and bytes_left > 0 and pull.channel not in self._backlog and pull.channel.has_room:
                bytes_left -= self._answer(pull)
            else:
                self._backlog.setdefault(pull.channel, deque()).append(pull)
        if self._backlog and not self._is_catching_up:
            self._is_catching_up = True
            asyncio.get_running_loop().call_soon(self._answer_backlog)

    def _answer_backlog(self) -> None:
        """Answer one turn's share, connections in turn."""
        backlog, left, bytes_left = self._backlog, _WOKEN_PER_TURN, _WOKEN_BYTES_PER_TURN
        for _ in range(len(backlog)):
            channel = next(iter(backlog))
            pulls = backlog.pop(channel)
            share = min(len(pulls), left, _WOKEN_PER_CONNECTION)
            while share and bytes_left > 0 and channel.has_room:
                share, left = share - 1, left - 1
                bytes_left -= self._answer(pulls.popleft())
            if pulls:
                backlog[channel] = pulls
            if not left or bytes_left <= 0:
                break
        loop = asyncio.get_running_loop()
        if not backlog:
            self._is_catching_up = False
        elif left < _WOKEN_PER_TURN:
            loop.call_soon(self._answer_backlog)
        else:
            loop.call_later(_NO_ROOM_CHECK_MS / 1_000, self._answer_backlog)

    def _answer(self, pull: HeldPullRequest) -> int:
        self._let_go(pull)
        return self.execute(pull)

    def _let_go(self, pull: HeldPullRequest) -> None:
        self._count -= 1
        self._text_length -= len(pull.header.subscription or "")
