"""Producers in a scenario."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Self

from engine.bank.paying_bank import TransferVariant
from engine.client.foundation.client_config import ClientConfig
from engine.client.producer.producer_config import ProducerConfig
from engine.lab.scenario.errors import SettingRefused
from engine.lab.scenario.kinds.bank_checks import check_banks
from engine.lab.scenario.kinds.bank_spec import CashMachineSpec, PayingBankSpec, parse_paying_bank
from engine.lab.scenario.kinds.node_kind import TRAFFIC_MAX, NodeKind
from engine.lab.scenario.kinds.node_spec import MESSAGE, BankNodeSpec, MemberSpec, SendingSpec
from engine.lab.scenario.scenario_names import Milliseconds
from engine.lab.scenario.scenario_traffic import clash_of, parse_traffic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import part, parts, read_spec, words_of
from engine.lab.scenario.traffic_spec import BATCH_MAX, BODY_BYTES_MAX, SendMode, TrafficSpec
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


#: Only a check can be answered by a look-up.
_EXECUTING = tuple(word for word in TransactionWord if word is not TransactionWord.LOOKED_UP)


def _parse_outcomes(section: Section, field: str) -> tuple[tuple[str, TransactionWord], ...] | None:
    outcomes = section.section(field)
    if outcomes is None:
        return None
    return tuple((key, TransactionWord(outcomes.choice(key, _EXECUTING))) for key in outcomes.names())


@dataclass(frozen=True, slots=True)
class TransactionSpec:
    """Behaviour of a producer's transaction listener. With it, everything the producer sends is sent in a transaction.

    :ivar executes: how local transactions end: message n takes word n, cyclically.
    :ivar outcomes: keys of messages whose local transactions end differently, and how.
    :ivar duration_ms: how long one takes.
    :ivar checks: how the check-backs of a message are answered: the nth takes word n, later ones the last word.
    :ivar check_duration_ms: how long an answer takes.
    """

    executes: Annotated[tuple[TransactionWord, ...], words_of(*_EXECUTING)] = (TransactionWord.COMMIT,)
    duration_ms: Milliseconds = 10
    checks: Annotated[tuple[TransactionWord, ...], words_of(*TransactionWord)] = (TransactionWord.LOOKED_UP,)
    check_duration_ms: Milliseconds = 5
    outcomes: Annotated[tuple[tuple[str, TransactionWord], ...], _parse_outcomes] = ()


@dataclass(frozen=True, kw_only=True)
class ProducerSpec(MemberSpec, SendingSpec, BankNodeSpec):
    """A producer.

    :ivar transaction: None: it sends ordinary messages.
    :ivar bank: debited by each of its messages.
    :ivar cash_machine: of its bank; None: it has none.
    """

    role: ClassVar[str] = "producer"
    activity = "sending"
    compared_fields: ClassVar = {"batch": (1, BATCH_MAX), "body_bytes": (0, BODY_BYTES_MAX)}
    crash_steps: ClassVar = {
        MESSAGE: ("debits the account", "commits the local transaction", "ends the transaction"),
    }

    traffic: Annotated[tuple[TrafficSpec, ...], parts(parse_traffic, TRAFFIC_MAX)] = ()
    transaction: TransactionSpec | None = None
    bank: Annotated[PayingBankSpec | None, part(parse_paying_bank)] = None
    cash_machine: CashMachineSpec | None = None

    @property
    def sends_in_transactions(self) -> bool:
        return self.transaction is not None

    def with_field(self, name: str, value: int) -> Self:
        if name == "batch" and value > 1 and self.transaction is not None:
            problem = "batch is not allowed: transactional messages cannot be batched"
            raise SettingRefused("refusal.settings_clash", problem=problem)
        traffic = tuple(
            replace(one, batch=value) if name == "batch" else replace(one, body_bytes=value) for one in self.traffic
        )
        for clash in filter(None, map(clash_of, traffic)):
            raise SettingRefused("refusal.settings_clash", problem=" ".join(clash))
        return replace(self, traffic=traffic)

    def transaction_parts(self, *, has_half_messages: bool) -> tuple[str, ...]:
        return ("TM", "RM") if self.transaction is not None else ()


def _parse(name: str, section: Section) -> ProducerSpec:
    spec = read_spec(ProducerSpec, section, name=name, **({} if section.has("bank") else {"cash_machine": None}))
    sections = section.sections("traffic", max_count=TRAFFIC_MAX)
    if spec.bank is not None:
        if spec.transaction is not None:
            raise section.fail("transaction", "is not allowed with bank: the bank's database says how it ended")
        for each in sections:
            if each.has("body"):
                raise each.fail("body", "is not allowed: the bank writes it")
        spec = replace(spec, transaction=_transaction_of(spec.bank))
    if spec.transaction is not None:
        for each, traffic in zip(sections, spec.traffic, strict=True):
            _check_transactional(each, traffic)
    return spec


def _check_transactional(section: Section, spec: TrafficSpec) -> None:
    # The client refuses the first, and has no method for the second.
    if spec.delay_level:
        raise section.fail("delay_level", "is not allowed: a transactional message cannot be delayed")
    if spec.batch > 1:
        raise section.fail("batch", "is not allowed: transactional messages cannot be batched")
    if spec.queue is not None:
        raise section.fail("queue", "is not allowed: a transactional message cannot choose its queue")
    if spec.mode is not SendMode.SYNC:
        raise section.fail("mode", "must be sync: a transaction begins when the broker has answered")


def _transaction_of(bank: PayingBankSpec) -> TransactionSpec | None:
    """Return the producer's transaction settings that follow from the bank's way."""
    if bank.way is not TransferVariant.TRANSACTION:
        return None
    return TransactionSpec(duration_ms=bank.duration_ms, check_duration_ms=bank.check_duration_ms)


PRODUCER = NodeKind(ProducerSpec, (ProducerConfig, ClientConfig, IdentifierConfig), (check_banks,), _parse)
