"""Requests of an operator, from the command line or the live page, and their refusals in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from app.foundation.translator import in_all_languages

if TYPE_CHECKING:
    from engine.broker.delivery.dead_letter import ResendTo

#: Queues of a topic that is created by hand.
QUEUES_MAX = 1024
#: Bytes of a body that is typed or pasted on the page.
BODY_BYTES_MAX = 16_384
DELAY_LEVEL_MAX = 18


class OperationRefused(Exception):
    """The request cannot be carried out; nothing has happened.

    :ivar text: why, by language.
    """

    def __init__(self, reason: str, **values: object) -> None:
        self.text = in_all_languages("operate.refused_" + reason, **values)
        super().__init__(self.text["en"])


class ResetTarget(StrEnum):
    """Positions from which a group may continue."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIME = "time"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class TopicRequest:
    """A request for a topic with this number of queues, readable and writable."""

    topic: str
    queues: int


@dataclass(frozen=True, slots=True)
class SendMessageRequest:
    """A request to send one message."""

    topic: str
    body: str
    tag: str | None = None
    keys: tuple[str, ...] = ()
    delay_level: int = 0


@dataclass(frozen=True, slots=True)
class ResetOffsetRequest:
    """A request that ``group`` continues elsewhere in ``topic``: in all its queues, or with
    :attr:`ResetTarget.OFFSET` in
    one.

    :ivar time_ms: with :attr:`ResetTarget.TIME`, the time from which on messages are consumed.
    :ivar preview: only report what would change.
    """

    group: str
    topic: str
    place: ResetTarget
    time_ms: int = 0
    queue_id: int = 0
    offset: int = 0
    preview: bool = False


OperatorRequest = TopicRequest | SendMessageRequest | ResetOffsetRequest


@dataclass(frozen=True, slots=True)
class ResendRequest:
    """A request to resend dead letters of a group.

    :ivar names: ids or keys; None means all that were not resent yet from number ``start`` on, at most this number at a
        time.
    :ivar anyway: resend named ones even if they were resent before.
    """

    names: tuple[str, ...] | None
    to: ResendTo
    anyway: bool = False
    start: int = 0
