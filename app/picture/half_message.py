"""Half messages and the op messages that decide them, as one broker stores them."""

from __future__ import annotations

from typing import Literal, TypedDict

#: What was decided about a transaction.
Outcome = Literal["committed", "rolled-back"]


class DecidedByHand(TypedDict):
    """A half message that an operator has decided."""

    #: By it, the message is decided by hand.
    id: str
    key: str
    #: Where it will go; empty when its properties do not say so.
    topic: str
    #: -1 when its properties do not say so.
    queue_id: int
    #: The producer's.
    group: str


class HalfMessageNames(DecidedByHand):
    """What a half message and a given-up message have in common, but for times."""

    #: Of the queue that it is stored in.
    queue_offset: int
    #: In the commit log.
    offset: int
    #: How many check-backs it has had.
    check_times: int


class StoredHalfMessage(HalfMessageNames):
    """What a half message and a given-up message have in common."""

    born_us: int


class FixedHalfMessage(StoredHalfMessage):
    """What never changes of a half message."""

    #: No check-back before that.
    ask_from_us: int


class HalfMessage(FixedHalfMessage):
    """A half message."""

    #: Queue offset of the op message that decides it; None: undecided.
    decided_by: int | None
    #: What was decided; None: undecided, or there is no index to find the committed message with.
    outcome: Outcome | None


class GivenUpMessage(StoredHalfMessage):
    """A message that the broker gave up: in TRANS_CHECK_MAX_TIME_TOPIC."""

    given_up_us: int
    #: Queue offset of the half message that it became again, or None.
    checked_again: int | None


class Transactions(TypedDict):
    """The half messages of a broker, with offsets, counts and settings of its check service."""

    #: Where the next round of the check service begins, in the half queue.
    half_offset: int
    half_end: int
    #: The same for the op queue.
    op_offset: int
    op_end: int
    #: Check-backs to producers since the broker started.
    checks_sent: int
    #: Half messages given up since then.
    discarded: int
    time_out_ms: int
    check_interval_ms: int
    check_max: int
    #: How many messages TRANS_CHECK_MAX_TIME_TOPIC has had.
    given_up_end: int
    #: When the check service walks along the half queue again.
    next_round_us: int
    #: The newest half messages from ``half_offset`` on, oldest first.
    messages: list[HalfMessage]
    #: The newest ones, oldest first.
    given_up: list[GivenUpMessage]


class HalfMessageDecision(TypedDict):
    """What an operator has done to a half message."""

    #: A word of ``engine.broker.transactions.half_message_lookup.HalfMessageAction``.
    action: str
    message: DecidedByHand
