"""What an operator wants done by hand, on the command line or on the live page, and refusals in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.foundation.translator import in_all_languages

#: Queues of a topic that is made by hand.
QUEUES_MAX = 1024
#: A body that is typed or pasted on the page.
BODY_BYTES_MAX = 16_384
DELAY_LEVEL_MAX = 18


class WishRefused(Exception):
    """It cannot be done; nothing has happened.

    :ivar text: why, by language.
    """

    def __init__(self, reason: str, **values: object) -> None:
        self.text = in_all_languages("operate.refused_" + reason, **values)
        super().__init__(self.text["en"])


class Place(StrEnum):
    """Where a group may go on."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIME = "time"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class TopicWish:
    """A topic with so many queues, to be read and written."""

    topic: str
    queues: int


@dataclass(frozen=True, slots=True)
class SendWish:
    """One message."""

    topic: str
    body: str
    tag: str | None = None
    keys: tuple[str, ...] = ()
    delay_level: int = 0


@dataclass(frozen=True, slots=True)
class ResetWish:
    """``group`` shall go on elsewhere in ``topic``: in all its queues, or with :attr:`Place.OFFSET` in one.

    :ivar time_ms: with :attr:`Place.TIME`: the messages stored then.
    :ivar preview: say only what it would mean.
    """

    group: str
    topic: str
    place: Place
    time_ms: int = 0
    queue_id: int = 0
    offset: int = 0
    preview: bool = False


Wish = TopicWish | SendWish | ResetWish
