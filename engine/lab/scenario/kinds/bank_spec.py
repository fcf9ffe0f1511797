"""The banks of nodes, see :mod:`engine.bank`, and the transfers between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from engine.bank.paying_bank import TransferVariant
from engine.bank.transfer import AMOUNT_MAX
from engine.fields.field import Field
from engine.lab.scenario.scenario_names import TIME_MAX_MS, Milliseconds
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import Named, read_spec, words_of

_COUNT_MAX = 10_000


def _check_name(name: str) -> None:
    if not name or not name.isprintable():
        raise ValueError("must be a name")


BankName = Annotated[str, Field("", "text", 0, 40, check=_check_name)]
ManagerName = Annotated[str, Field("", "text", 0, 60)]
Amount = Annotated[int, Field("", "integer", 0, AMOUNT_MAX)]
AmountOfTransfer = Annotated[int, Field("", "integer", 1, AMOUNT_MAX)]


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

    name: BankName
    account: BankName
    opening: Amount


@dataclass(frozen=True, slots=True)
class PayingBankSpec(BankSpec):
    """The bank of a producer.

    :cvar table: table of its database with its part of the transfers.
    :ivar amount, to, way: what each of its messages moves, to which account, and in which way.
    :ivar duration_ms: how long a local transaction stays open.
    :ivar check_duration_ms: how long answering a check-back takes.
    :ivar answers: what its listener answers: transfer n takes word n, and round again.
    """

    table: ClassVar[str] = "transfer"

    amount: AmountOfTransfer
    to: BankName = "B"
    way: TransferVariant = TransferVariant.TRANSACTION
    duration_ms: Milliseconds = 20
    check_duration_ms: Milliseconds = 5
    answers: Annotated[tuple[BankAnswer, ...], words_of(*BankAnswer)] = (BankAnswer.OUTCOME,)


def parse_paying_bank(section: Section) -> PayingBankSpec:
    """Parse the bank of a producer. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    spec = read_spec(PayingBankSpec, section)
    if spec.way is not TransferVariant.TRANSACTION:
        for field in ("check_duration_ms", "answers"):
            if section.has(field):
                raise section.fail(field, f"is not allowed with way {spec.way}: nobody asks the bank")
    return spec


@dataclass(frozen=True, slots=True)
class ReceivingBankSpec(BankSpec):
    """The bank of a consumer. ``idempotent``: whether it ignores a transfer that it has credited before."""

    table: ClassVar[str] = "credit"
    way: ClassVar[None] = None

    opening: Amount = 0
    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class ResourceBankSpec(BankSpec):
    """The bank of a resource manager. ``duration_ms``: how long the work of a branch takes."""

    opening: Amount = 0
    duration_ms: Milliseconds = 20


@dataclass(frozen=True, slots=True)
class TransfersSpec:
    """Transfers of a transaction manager, one after the other: the same amount from one bank to another.

    :ivar source, target: names of resource managers: their accounts are debited and credited.
    :ivar key: names each transfer; ``{n}`` is its number, from 0.
    """

    source: Annotated[ManagerName, Named("from")]
    target: Annotated[ManagerName, Named("to")]
    amount: AmountOfTransfer
    key: str
    count: Annotated[int, Field("", "integer", 0, _COUNT_MAX)] = 1
    every_ms: Milliseconds = 1_000
    start_ms: Milliseconds = 500

    def key_of(self, number: int) -> str:
        """Return the name of transfer ``number``."""
        return self.key.replace("{n}", str(number))


def parse_transfers(section: Section, node: str) -> TransfersSpec:
    """Parse the transfers of a transaction manager. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    key = section.text("key", f"{node}-{{n}}", max_length=60)
    if "{n}" not in key or " " in key or not key.isprintable():
        raise section.fail(
            "key", f"{key!r} is not allowed; it must contain {{n}} and no space: a key names one transfer"
        )
    return read_spec(TransfersSpec, section, key=key)


@dataclass(frozen=True, slots=True)
class CashMachineSpec:
    """A customer who looks up the balance of a bank's account, under the lock that a withdrawal needs, repeatedly.

    :ivar count: number of look-ups.
    """

    every_ms: Annotated[int, Field("", "integer", 1, TIME_MAX_MS)] = 500
    start_ms: Milliseconds = 500
    count: Annotated[int, Field("", "integer", 1, _COUNT_MAX)] = 20
