"""What a bank does and has done, for whoever watches: the lab's history and pictures, and the live demonstration."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple


class Doing(StrEnum):
    """What a bank is at."""

    DEBIT = "debit"
    CREDIT = "credit"
    #: It answers a check-back.
    CHECK = "check"


class OpenDeed(NamedTuple):
    """Work under way. ``since_us`` is on the node's monotonic clock."""

    doing: Doing
    key: str
    amount: int
    since_us: int


#: :attr:`BankDeed.outcome` of work that took effect, of a credit that had been made before, and of work that is
#: promised but waits for a decision (two-phase commit only).
COMMITTED = "committed"
DUPLICATE = "duplicate"
PREPARED = "prepared"


class BankDeed(NamedTuple):
    """Work that has ended.

    :ivar outcome: ``committed``, ``duplicate``, or the ``reason`` of a :class:`~engine.bank.errors.BankError`; of a
        check the answer (``commit``, ``rollback``, ``unknown``).
    :ivar balance: committed, after it.
    """

    doing: Doing
    account: str
    key: str
    amount: int
    outcome: str
    balance: int


#: Is told of every deed right when it has ended.
BankWatcher = Callable[[BankDeed], None]


def watch_nothing(deed: BankDeed) -> None:
    """For a bank that nobody watches."""
