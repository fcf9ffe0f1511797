"""Behaviour of a consumer's listener in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from engine.fields.field import Field
from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX, MESSAGES_MAX, Milliseconds, TopicName
from engine.lab.scenario.scenario_yaml import Section


class ListenerResult(StrEnum):
    """Result of a call of a consumer's listener."""

    SUCCESS = "success"
    #: RECONSUME_LATER.
    LATER = "later"
    THROWS = "throws"
    #: The call never ends.
    HANGS = "hangs"
    #: SUSPEND_CURRENT_QUEUE_A_MOMENT. Like LATER: each counts as the other if the listener does not have it.
    SUSPEND = "suspend"
    #: Orderly, with auto-commit off; otherwise it counts as SUCCESS.
    COMMIT = "commit"
    #: Orderly, with auto-commit off; otherwise RocketMQ takes it as SUCCESS.
    ROLLBACK = "rollback"


def _parse_tags(section: Section, field: str) -> tuple[str, ...]:
    words = section.words(field, max_count=20)
    if not words:
        raise section.fail(field, "is missing: which messages may be moved aside?")
    return words


@dataclass(frozen=True, slots=True)
class MoveAsideSpec:
    """Messages sent to another topic under backlog, see :class:`engine.lab.nodes.helper_producer.MoveAside`.

    :ivar topic: the other topic.
    :ivar only_tags: tags of the messages that may be moved.
    :ivar above: how many messages must come after such a one in its queue.
    """

    topic: TopicName
    only_tags: Annotated[tuple[str, ...], _parse_tags]
    above: Annotated[int, Field("", "integer", 0, MESSAGES_MAX)] = 100


#: Default size of the list of ``hand_over``.
HAND_OVER_MAX = 10_000


class BatchAck(StrEnum):
    """Answer for a batch of which some messages fail, see :mod:`engine.lab.nodes.batch_answer`."""

    WHOLE = "whole"
    PER_MESSAGE = "per-message"
    ALL_OR_NOTHING = "all-or-nothing"
    DROP_FAILED = "drop-failed"


Failures = Annotated[int, Field("", "integer", 0, 1_000)]


def _parse_keys(section: Section, field: str) -> tuple[str, ...]:
    return section.words(field, max_count=100)


def _parse_failures(section: Section, field: str) -> tuple[tuple[str, int], ...] | None:
    by_key = section.section(field)
    return None if by_key is None else tuple((key, by_key.integer(key, 0, 1_000)) for key in by_key.names())


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """Behaviour of a consumer's listener.

    :ivar duration_ms: how long a call takes, however many messages it has.
    :ivar each_ms: additional time for every message that it works on.
    :ivar result: how a call with a matching message ends.
    :ivar fails_first: None: matching messages always end with ``result``. A number N: the first N deliveries of each
        matching message fail (with ``result``, or ``later`` when that is ``success``), the next one succeeds.
    :ivar only_keys: the messages that match; empty: all.
    :ivar fails_by_key: keys of messages that have a ``fails_first`` of their own.
    :ivar commit_every: orderly: None: auto-commit. A number N: auto-commit is off, and N messages of a queue in a row
        are committed together, with the last of them.
    :ivar suspend_ms: orderly: how long the queue rests after a failure; None: as the consumer is configured.
    :ivar ack_index: concurrent: None: as ``batch_ack`` says. A number: the listener sets ``context.ack_index`` to it in
        every call that succeeds: the messages after that index are delivered again.
    :ivar delay_level: concurrent: ``context.delay_level_when_next_consume``: 0 leaves it to the broker, -1: at once to
        the dead letters.
    :ivar batch_ack: what it answers when some messages of a call fail.
    :ivar hand_over: the listener only puts its messages into a list and succeeds; a worker consumes them, see
        :mod:`engine.lab.nodes.in_memory_queue`.
    :ivar hand_over_ms: how long the worker takes for a message.
    :ivar hand_over_max: how many messages the list holds; the listener waits while it is full.
    :ivar move_aside: None: it consumes everything itself.
    :ivar reply: what it answers to requests, a pattern with ``{key}`` and ``{node}``; empty: it answers none.
    :ivar drops_expired: requests whose timeout is over are acknowledged without work.
    """

    duration_ms: Milliseconds = 10
    result: ListenerResult = ListenerResult.SUCCESS
    fails_first: Failures | None = None
    only_keys: Annotated[tuple[str, ...], _parse_keys] = ()
    fails_by_key: Annotated[tuple[tuple[str, int], ...], _parse_failures] = ()
    commit_every: Annotated[int | None, Field("", "integer", 1, 1_000)] = None
    suspend_ms: Milliseconds | None = None
    ack_index: Annotated[int | None, Field("", "integer", -1, 1_023)] = None
    delay_level: Annotated[int, Field("", "integer", -1, DELAY_LEVEL_MAX)] = 0
    each_ms: Milliseconds = 0
    batch_ack: BatchAck = BatchAck.WHOLE
    hand_over: bool = False
    hand_over_ms: Milliseconds = 100
    hand_over_max: Annotated[int, Field("", "integer", 1, HAND_OVER_MAX)] = HAND_OVER_MAX
    move_aside: MoveAsideSpec | None = None
    reply: Annotated[str, Field("", "text", 0, 4_000)] = ""
    drops_expired: bool = False

    def result_of(self, key: str, reconsume_times: int) -> ListenerResult:
        """Return the result of a delivery of a message that was redelivered ``reconsume_times`` times."""
        fails_first = dict(self.fails_by_key).get(key, self.fails_first)
        if self.only_keys and key not in self.only_keys:
            return ListenerResult.SUCCESS
        if fails_first is None:
            return self.result
        if reconsume_times >= fails_first:
            return ListenerResult.SUCCESS
        return ListenerResult.LATER if self.result is ListenerResult.SUCCESS else self.result
