"""The work of a bank, for observers: the lab's history and diagrams, and the live demonstration."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple


class Doing(StrEnum):
    """The kinds of work of a bank."""

    DEBIT = "debit"
    CREDIT = "credit"
    #: It answers a check-back.
    CHECK = "check"


class OpenAction(NamedTuple):
    """Work in progress. ``since_us`` is on the node's monotonic clock."""

    doing: Doing
    key: str
    amount: int
    since_us: int


#: Values of :attr:`BankAction.outcome`: work that took effect, a credit that had been made before, and work that is
#: promised but waits for a decision (two-phase commit only).
COMMITTED = "committed"
DUPLICATE = "duplicate"
PREPARED = "prepared"


class BankAction(NamedTuple):
    """Finished work.

    :ivar outcome: ``committed``, ``duplicate``, or the ``reason`` of a :class:`~engine.bank.errors.BankError`; for a
        check, the answer (``commit``, ``rollback``, ``unknown``).
    :ivar balance: the committed balance after it.
    """

    doing: Doing
    account: str
    key: str
    amount: int
    outcome: str
    balance: int


#: A callback for each piece of work right after it has ended.
BankWatcher = Callable[[BankAction], None]


def watch_nothing(action: BankAction) -> None:
    """Ignore the work of a bank without an observer."""
