"""Consumers in a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from engine.client.foundation.client_config import ClientConfig
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.fields.field import Field
from engine.filter.compiler import compile_expression
from engine.filter.errors import FilterSyntaxError
from engine.idempotence.idempotence_config import IdempotenceConfig
from engine.lab.scenario.kinds.bank_checks import check_banks
from engine.lab.scenario.kinds.bank_spec import ReceivingBankSpec
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_spec import MESSAGE, WORK, BankNodeSpec, MemberSpec, NodeSpec
from engine.lab.scenario.kinds.stores import DatabaseSpec, RedisSpec, ServiceSpec
from engine.lab.scenario.listener_spec import ListenerResult, ListenerSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_listener import parse_listener, parse_work
from engine.lab.scenario.scenario_names import Milliseconds, TopicName, parse_topic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import Named, part, read_spec
from engine.lab.scenario.switches import IDEMPOTENT_CONSUMER, ORDERLY_SWITCHES
from engine.lab.work.work_spec import WorkConfig, WorkSpec
from engine.protocol.body.subscription_data import SUBSCRIBE_ALL, build_subscription_data
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import ProtocolError

THREADS_MAX = 64
EXPRESSION_MAX = 500


@dataclass(frozen=True, kw_only=True)
class ConsumerSpec(MemberSpec, BankNodeSpec):
    """A push consumer.

    :ivar expression: which messages it wants, by tags or, as ``expression_type`` says, by an SQL92 condition.
    :ivar bank: credited by its messages.
    :ivar work: what its listener does; None: it only takes time.
    :ivar model: ``clustering`` or ``broadcasting``.
    :ivar orderly: the listener gets the messages of a queue one after the other.
    :ivar consume_from: where a group without a stored offset begins: ``first``, ``last`` or ``timestamp``.
    :ivar from_ms: with ``timestamp``: at the first message stored then or later, in ms of the world; None: as RocketMQ,
        half an hour before the consumer starts.
    :ivar detect_loss: it looks at the numbers of its messages, see :mod:`engine.lab.nodes.loss_watch`.
    """

    role: ClassVar[str] = "consumer"
    activity = "consuming"
    compared_fields: ClassVar = {"threads": (1, THREADS_MAX)}
    crash_steps: ClassVar = {
        MESSAGE: ("credits the account", "commits the credit", "updates the offset"),
        WORK: (
            "inserts the key",
            "writes the order",
            "takes it from the stock",
            "places the order",
            "marks the order paid",
            "notes the order",
            "calls a service",
            "notes the next message",
            "commits the work",
            "looks for the next message",
            "ends the transaction",
            "updates the offset",
        ),
    }

    topic: TopicName
    # One from ``expression:`` or ``sql:``, the other says which.
    expression: Annotated[str, Field("", "text", 0, EXPRESSION_MAX)] = SUBSCRIBE_ALL
    expression_type: Annotated[ExpressionType, Named("sql")] = ExpressionType.TAG
    bank: ReceivingBankSpec | None = None
    work: Annotated[WorkSpec | None, part(parse_work)] = None
    model: Annotated[str, Field("", "choice", allowed=("clustering", "broadcasting"))] = "clustering"
    orderly: bool = False
    consume_from: Annotated[str, Field("", "choice", allowed=("first", "last", "timestamp")), Named("from")] = "first"
    from_ms: Milliseconds | None = None
    threads: Annotated[int, Field("", "integer", 1, THREADS_MAX)] = 2
    detect_loss: bool = False
    listener: ListenerSpec = field(default_factory=ListenerSpec)

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,)

    @property
    def has_work(self) -> bool:
        return self.work is not None

    @property
    def sends_in_transactions(self) -> bool:
        """Return whether the work of its listener continues elsewhere."""
        return self.work is not None and bool(self.work.then)

    @property
    def switches(self) -> tuple[str, ...]:
        return (*ORDERLY_SWITCHES, IDEMPOTENT_CONSUMER) if self.has_bank else ORDERLY_SWITCHES

    @property
    def begins_off(self) -> tuple[str, ...]:
        return (IDEMPOTENT_CONSUMER,) if self.bank is not None and not self.bank.idempotent else ()

    @property
    def message_requests(self) -> tuple[str, ...]:
        pulls = ("PULL_MESSAGE", "CONSUMER_SEND_MSG_BACK", "UPDATE_CONSUMER_OFFSET")
        return (*pulls, "SEND_MESSAGE_V2", "END_TRANSACTION") if self.sends_in_transactions else pulls

    @property
    def called_nodes(self) -> tuple[str, ...]:
        work = self.work
        return () if work is None else tuple(dict.fromkeys((work.database, work.records, *work.services)))

    @property
    def usual(self) -> Mapping[str, Mapping[str, int | str]]:
        return {"listener": {"result": ListenerResult.SUCCESS.value, "duration_ms": self.listener.duration_ms}}

    def accepts(self, key: str) -> bool:
        return self.listener.result_of(key, 0) is ListenerResult.SUCCESS


def _parse(name: str, section: Section) -> ConsumerSpec:
    expression, expression_type = _expression(section, parse_topic(section))
    orderly = section.switch("orderly", default=False)
    spec = read_spec(
        ConsumerSpec,
        section,
        name=name,
        expression=expression,
        expression_type=expression_type,
        listener=section.part("listener", lambda fields: parse_listener(fields, orderly=orderly)) or ListenerSpec(),
    )
    if spec.from_ms is not None and spec.consume_from != "timestamp":
        raise section.fail("from_ms", "is allowed only with from: timestamp")
    if spec.bank is not None and spec.model != "clustering":
        raise section.fail("model", "must be clustering: a bank has one database, and its progress is the group's")
    if spec.detect_loss and expression != SUBSCRIBE_ALL:
        raise section.fail(
            "detect_loss", "needs all messages, no expression and no sql: filtered messages would seem lost"
        )
    return spec


def _expression(section: Section, topic: str) -> tuple[str, ExpressionType]:
    """Parse the filter of a consumer: ``expression:`` of tags, or ``sql:``."""
    expression, sql = (
        section.text(name, usual, max_length=EXPRESSION_MAX) for name, usual in (("expression", "*"), ("sql", ""))
    )
    if not sql:
        try:
            build_subscription_data(topic, expression)
        except ProtocolError as error:
            raise section.fail("expression", str(error)) from error
        return expression, ExpressionType.TAG
    if section.has("expression"):
        raise section.fail("sql", "is not allowed with expression: a subscription filters by one of the two")
    try:
        compile_expression(sql)
    except FilterSyntaxError as error:
        raise section.fail("sql", str(error)) from error
    return sql, ExpressionType.SQL92


def _check_work(nodes: Section, scenario: Scenario) -> None:
    """Check the nodes that a listener uses."""
    for node in scenario.of_kind(ConsumerSpec):
        work = node.work
        if work is None:
            continue
        if node.bank is not None:
            raise nodes.fail(node.name, "work is not allowed with bank: the listener does one of the two")
        _check_store(nodes, scenario, node.name, "work.database", work.database, DatabaseSpec)
        _check_store(nodes, scenario, node.name, "work.records", work.records, DatabaseSpec, RedisSpec)
        for service in work.services:
            _check_store(nodes, scenario, node.name, "work.steps", service, ServiceSpec)


def _check_store(nodes: Section, scenario: Scenario, node: str, field: str, name: str, *kinds: type[NodeSpec]) -> None:
    known = [spec.name for kind in kinds for spec in scenario.of_kind(kind)]
    if name not in known:
        allowed, roles = ", ".join(known) or "there is none", " or ".join(kind.role for kind in kinds)
        raise nodes.fail(node, f"{field} {name!r} is not a node with role {roles}; allowed: {allowed}")


CONSUMER = NodeKind(
    ConsumerSpec,
    (PushConsumerConfig, ClientConfig, IdempotenceConfig, WorkConfig),
    (check_banks, _check_work),
    _parse,
)
