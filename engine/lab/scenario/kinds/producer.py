"""Producers in a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from engine.bank.paying_bank import TransferVariant
from engine.client.foundation.client_config import ClientConfig
from engine.client.producer.producer_config import ProducerConfig
from engine.lab.scenario.kinds.bank_spec import CashMachineSpec, PayingBankSpec
from engine.lab.scenario.kinds.node_kind import TRAFFIC_MAX, NodeKind
from engine.lab.scenario.kinds.node_spec import BankNodeSpec, MemberSpec, SendingSpec
from engine.lab.scenario.scenario_banks import check_banks, parse_cash_machine, parse_paying_bank
from engine.lab.scenario.scenario_names import TIME_MAX_MS, parse_group
from engine.lab.scenario.scenario_traffic import parse_traffic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.traffic_spec import SendMode, TrafficSpec
from engine.lab.work.identifiers import IdentifierConfig


class TransactionWord(StrEnum):
    """Result of a call of a producer's transaction listener."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    #: UNKNOW: the broker must ask later.
    UNKNOWN = "unknown"
    #: Counts as UNKNOWN.
    THROWS = "throws"
    #: Checks only: the outcome in the group's database, see :mod:`engine.lab.nodes.local_transactions`.
    LOOKED_UP = "looked-up"


@dataclass(frozen=True, slots=True)
class TransactionSpec:
    """Behaviour of a producer's transaction listener. With it, everything the producer sends is sent in a transaction.

    :ivar executes: how local transactions end: message n takes word n, cyclically.
    :ivar outcomes: keys of messages whose local transactions end differently, and how.
    :ivar duration_ms: how long one takes.
    :ivar checks: how the check-backs of a message are answered: the nth takes word n, later ones the last word.
    :ivar check_duration_ms: how long an answer takes.
    """

    executes: tuple[TransactionWord, ...] = (TransactionWord.COMMIT,)
    duration_ms: int = 10
    checks: tuple[TransactionWord, ...] = (TransactionWord.LOOKED_UP,)
    check_duration_ms: int = 5
    outcomes: tuple[tuple[str, TransactionWord], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ProducerSpec(MemberSpec, SendingSpec, BankNodeSpec):
    """A producer.

    :ivar transaction: None: it sends ordinary messages.
    :ivar bank: debited by each of its messages.
    :ivar cash_machine: of its bank; None: it has none.
    """

    role: ClassVar[str] = "producer"

    transaction: TransactionSpec | None = None
    bank: PayingBankSpec | None = None
    cash_machine: CashMachineSpec | None = None

    @property
    def sends_in_transactions(self) -> bool:
        return self.transaction is not None


def _parse(name: str, section: Section) -> ProducerSpec:
    transaction = section.part("transaction", _transaction)
    bank = section.part("bank", parse_paying_bank)
    if bank is not None:
        if transaction is not None:
            raise section.fail("transaction", "is not allowed with bank: the bank's database says how it ended")
        transaction = _transaction_of(bank)
    parts = section.sections("traffic", max_count=TRAFFIC_MAX)
    traffic = tuple(parse_traffic(part) for part in parts)
    if transaction is not None:
        for part, spec in zip(parts, traffic, strict=True):
            _check_transactional(part, spec)
    for part in parts if bank is not None else ():
        if part.has("body"):
            raise part.fail("body", "is not allowed: the bank writes it")
    return ProducerSpec(
        name,
        group=parse_group(section),
        traffic=traffic,
        transaction=transaction,
        bank=bank,
        cash_machine=section.part("cash_machine", parse_cash_machine) if bank is not None else None,
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 0),
        stop_ms=section.optional_integer("stop_ms", 0, TIME_MAX_MS),
    )


def _check_transactional(part: Section, spec: TrafficSpec) -> None:
    # The client refuses the first, and has no method for the second.
    if spec.delay_level:
        raise part.fail("delay_level", "is not allowed: a transactional message cannot be delayed")
    if spec.batch > 1:
        raise part.fail("batch", "is not allowed: transactional messages cannot be batched")
    if spec.queue is not None:
        raise part.fail("queue", "is not allowed: a transactional message cannot choose its queue")
    if spec.mode is not SendMode.SYNC:
        raise part.fail("mode", "must be sync: a transaction begins when the broker has answered")


def _transaction(section: Section) -> TransactionSpec:
    usual, words = TransactionSpec(), list(TransactionWord)
    # Only a check can be answered by a look-up.
    executing = [word for word in words if word is not TransactionWord.LOOKED_UP]
    executes = section.words_of("executes", executing)
    outcomes = section.section("outcomes")
    return TransactionSpec(
        executes=executes or usual.executes,
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, usual.duration_ms),
        checks=section.words_of("checks", words) or usual.checks,
        check_duration_ms=section.integer("check_duration_ms", 0, TIME_MAX_MS, usual.check_duration_ms),
        outcomes=()
        if outcomes is None
        else tuple((key, TransactionWord(outcomes.choice(key, executing))) for key in outcomes.names()),
    )


def _transaction_of(bank: PayingBankSpec) -> TransactionSpec | None:
    """Return the producer's transaction settings that follow from the bank's way."""
    if bank.way is not TransferVariant.TRANSACTION:
        return None
    return TransactionSpec(duration_ms=bank.duration_ms, check_duration_ms=bank.check_duration_ms)


PRODUCER = NodeKind(
    ProducerSpec,
    _parse,
    ("transaction", "bank", "traffic", "group", "cash_machine", "start_ms", "stop_ms"),
    (ProducerConfig, ClientConfig, IdentifierConfig),
    (check_banks,),
)
