"""The banks of nodes, see :mod:`engine.bank`, and the transfers between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.bank.paying_bank import TransferVariant


class BankAnswer(StrEnum):
    """Answer of a paying bank's transaction listener when its local transaction has ended."""

    #: COMMIT when the debit is committed, else ROLLBACK.
    OUTCOME = "outcome"
    #: UNKNOW in any case; the broker will ask.
    UNKNOWN = "unknown"
    #: It fails after its work is done. Counts as UNKNOWN.
    THROWS = "throws"


@dataclass(frozen=True, slots=True)
class BankSpec:
    """The bank of a node. Its database is on the node's disk.

    :ivar account: the one account of it that this is about, with ``opening`` at the beginning.
    """

    name: str
    account: str
    opening: int


@dataclass(frozen=True, slots=True)
class PayingBankSpec(BankSpec):
    """The bank of a producer.

    :ivar amount, to, way: what each of its messages moves, to which account, and in which way.
    :ivar duration_ms: how long a local transaction stays open.
    :ivar check_duration_ms: how long answering a check-back takes.
    :ivar answers: what its listener answers: transfer n takes word n, and round again.
    """

    amount: int = 0
    to: str = ""
    way: TransferVariant = TransferVariant.TRANSACTION
    duration_ms: int = 20
    check_duration_ms: int = 5
    answers: tuple[BankAnswer, ...] = (BankAnswer.OUTCOME,)


@dataclass(frozen=True, slots=True)
class ReceivingBankSpec(BankSpec):
    """The bank of a consumer. ``idempotent``: whether it ignores a transfer that it has credited before."""

    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class ResourceBankSpec(BankSpec):
    """The bank of a resource manager. ``duration_ms``: how long the work of a branch takes."""

    duration_ms: int = 20


@dataclass(frozen=True, slots=True)
class TransfersSpec:
    """Transfers of a transaction manager, one after the other: the same amount from one bank to another.

    :ivar source, target: names of resource managers: their accounts are debited and credited.
    :ivar key: names each transfer; ``{n}`` is its number, from 0.
    """

    source: str
    target: str
    amount: int
    count: int
    every_ms: int
    start_ms: int
    key: str

    def key_of(self, number: int) -> str:
        """Return the name of transfer ``number``."""
        return self.key.replace("{n}", str(number))


@dataclass(frozen=True, slots=True)
class CashMachineSpec:
    """A customer who looks up the balance of a bank's account, under the lock that a withdrawal needs, repeatedly.

    :ivar count: number of look-ups.
    """

    every_ms: int
    start_ms: int
    count: int
