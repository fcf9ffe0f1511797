"""Banks of a lab world, cash machines, and the money between banks."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class OpenAction(TypedDict):
    """What a bank does at the moment."""

    key: str
    amount: int
    since_us: int
    #: "debit", "credit" or "check".
    doing: str


class Posting(TypedDict):
    """A row of a bank's table."""

    key: str
    amount: int
    time_us: int
    #: "open" or "committed".
    state: str
    #: How many times it was credited.
    times: int
    #: Of a resource manager, which has two tables: "debit" or "credit".
    doing: NotRequired[str]


class RefusedAction(TypedDict):
    """What a bank refused."""

    key: str
    amount: int
    time_us: int
    doing: str
    reason: str


class BankAccount(TypedDict):
    """The account of a bank. While no process runs: what is on the disk."""

    #: As the open transaction sees it; None: there is no database yet.
    balance: int | None
    #: As all others see it.
    committed_balance: int | None
    is_locked: bool
    #: Tasks that wait to write.
    waiters: list[str]
    open: list[OpenAction]
    #: The newest ones of its table.
    rows: list[Posting]


class Bank(BankAccount):
    """The bank of a client node."""

    name: str
    account: str
    opening: int
    #: How a producer pays; None of a consumer.
    way: str | None
    #: Whether a consumer recognises a transfer that it has had; None of a producer.
    idempotent: bool | None
    refused: list[RefusedAction]
    duplicates_ignored: int


class BalanceShown(TypedDict):
    """An answer of a cash machine."""

    began_us: int
    time_us: int
    #: None: it gave up.
    balance: int | None
    #: The transaction that it waited for; empty without one.
    holder: str


class CashMachine(TypedDict):
    """A cash machine."""

    #: None unless it waits, like the next.
    since_us: int | None
    holder: str | None
    #: The newest ones.
    ended: list[BalanceShown]


class MoneyWindow(TypedDict):
    """The time in which one bank has done its part of a transfer and the other has not, by their commits."""

    key: str
    debited: int
    credited: int
    debited_us: int | None
    credited_us: int | None


class Money(TypedDict):
    """What has moved between the banks of a world."""

    debited: int
    credited: int
    #: Debited and not credited yet.
    in_flight: int
    #: Credited and not debited.
    from_nowhere: int
    #: Time in us, debited, credited, in flight, from nowhere after each change; of a long story every other point.
    series: list[list[int]]
    #: Of the newest transfers.
    windows: list[MoneyWindow]
    #: Of the closed windows.
    longest_us: int | None
    median_us: int | None
    open_count: int
