"""The nodes in the text of a scenario, role by role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.filter.compiler import compile_expression
from engine.filter.errors import FilterSyntaxError
from engine.lab.scenario.errors import SettingRefused
from engine.lab.scenario.listener_spec import ListenerSpec
from engine.lab.scenario.scenario import DiskSpec, NodeSpec, Role, SettingValue, TransactionSpec, TransactionWord
from engine.lab.scenario.scenario_banks import (
    parse_cash_machine,
    parse_paying_bank,
    parse_receiving_bank,
    parse_resource_bank,
    parse_transfers,
    transaction_of,
)
from engine.lab.scenario.scenario_listener import parse_listener
from engine.lab.scenario.scenario_names import NOT_YET, TIME_MAX_MS, parse_group, parse_topic
from engine.lab.scenario.scenario_traffic import parse_traffic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.settings import check_settings, find_setting
from engine.lab.scenario.traffic_spec import SendMode
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import ProtocolError

THREADS_MAX = 64


def parse_node(name: str, section: Section) -> NodeSpec:
    """The node ``name``. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    role = Role(section.choice("role", list(Role)))
    fields = _FIELDS[role](name, section) if role in _FIELDS else {}
    node = NodeSpec(name, role, settings=_settings(section, role), **fields)
    section.finish(NOT_YET)
    return node


def _broker(name: str, section: Section) -> dict[str, Any]:
    return {"flush": section.choice("flush", ["async", "sync"], "async"), **_coordinator(name, section)}


def _coordinator(name: str, section: Section) -> dict[str, Any]:
    disk = DiskSpec()
    return {
        "disk": section.part("disk", lambda fields: DiskSpec(fields.integer("fsync_ms", 0, 60_000, disk.fsync_ms)))
        or disk
    }


def _manager(name: str, section: Section) -> dict[str, Any]:
    return {"transfers": section.part("transfers", lambda fields: parse_transfers(fields, name))}


def _resource_manager(name: str, section: Section) -> dict[str, Any]:
    bank = section.part("bank", parse_resource_bank)
    if bank is None:
        raise section.fail("bank", "is missing: a resource manager has a bank")
    return {"bank": bank, "cash_machine": section.part("cash_machine", parse_cash_machine)}


def _producer(name: str, section: Section) -> dict[str, Any]:
    transaction = section.part("transaction", _transaction)
    bank = section.part("bank", parse_paying_bank)
    if bank is not None:
        if transaction is not None:
            raise section.fail("transaction", "is not allowed beside bank: the bank's database says how it ended")
        transaction = transaction_of(bank)
    parts = section.sections("traffic", max_count=20)
    traffic = tuple(parse_traffic(part) for part in parts)
    for part, spec in zip(parts, traffic, strict=True) if transaction is not None else ():
        # The client refuses the one, and has no method for the other.
        if spec.delay_level:
            raise part.fail("delay_level", "is not allowed: a transactional message cannot be delayed")
        if spec.batch > 1:
            raise part.fail("batch", "is not allowed: transactional messages cannot be batched")
        if spec.queue is not None:
            raise part.fail("queue", "is not allowed: a transactional message cannot choose its queue")
        if spec.mode is not SendMode.SYNC:
            raise part.fail("mode", "must be sync: a transaction begins when the broker has answered")
    for part in parts if bank is not None else ():
        if part.has("body"):
            raise part.fail("body", "is not allowed: the bank writes it")
    return {
        "group": parse_group(section),
        "traffic": traffic,
        "transaction": transaction,
        "bank": bank,
        "cash_machine": section.part("cash_machine", parse_cash_machine) if bank is not None else None,
        "start_ms": section.integer("start_ms", 0, TIME_MAX_MS, 0),
        "stop_ms": section.optional_integer("stop_ms", 0, TIME_MAX_MS),
    }


def _transaction(section: Section) -> TransactionSpec:
    usual, words = TransactionSpec(), list(TransactionWord)
    # Only a check can be answered by looking up.
    executes = section.words_of("executes", [word for word in words if word is not TransactionWord.LOOKED_UP])
    return TransactionSpec(
        executes=executes or usual.executes,
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, usual.duration_ms),
        checks=section.words_of("checks", words) or usual.checks,
        check_duration_ms=section.integer("check_duration_ms", 0, TIME_MAX_MS, usual.check_duration_ms),
    )


def _consumer(name: str, section: Section) -> dict[str, Any]:
    topic = parse_topic(section)
    expression, expression_type = _expression(section, topic)
    orderly = section.switch("orderly", default=False)
    bank = section.part("bank", parse_receiving_bank)
    consume_from = section.choice("from", ["first", "last", "timestamp"], "first")
    from_ms = section.optional_integer("from_ms", 0, TIME_MAX_MS)
    if from_ms is not None and consume_from != "timestamp":
        raise section.fail("from_ms", "is allowed only with from: timestamp")
    model = section.choice("model", ["clustering", "broadcasting"], "clustering")
    if bank is not None and model != "clustering":
        raise section.fail("model", "must be clustering: a bank has one database, and its progress is the group's")
    return {
        "group": parse_group(section),
        "topic": topic,
        "expression": expression,
        "expression_type": expression_type,
        "bank": bank,
        "model": model,
        "orderly": orderly,
        "consume_from": consume_from,
        "from_ms": from_ms,
        "threads": section.integer("threads", 1, THREADS_MAX, 2),
        "start_ms": section.integer("start_ms", 0, TIME_MAX_MS, 0),
        "stop_ms": section.optional_integer("stop_ms", 0, TIME_MAX_MS),
        "listener": section.part("listener", lambda fields: parse_listener(fields, orderly=orderly)) or ListenerSpec(),
    }


def _expression(section: Section, topic: str) -> tuple[str, ExpressionType]:
    """Which messages a consumer wants: ``expression:`` of tags, or ``sql:``."""
    expression, sql = section.text("expression", "*", max_length=500), section.text("sql", "", max_length=500)
    if not sql:
        try:
            build_subscription_data(topic, expression)
        except ProtocolError as error:
            raise section.fail("expression", str(error)) from error
        return expression, ExpressionType.TAG
    if section.has("expression"):
        raise section.fail("sql", "is not allowed beside expression: a subscription filters by the one or the other")
    try:
        compile_expression(sql)
    except FilterSyntaxError as error:
        raise section.fail("sql", str(error)) from error
    return sql, ExpressionType.SQL92


def _settings(section: Section, role: Role) -> dict[str, SettingValue]:
    values: dict[str, SettingValue] = {}
    fields = section.section("settings")
    if fields is None:
        return values
    for name in fields.names():
        try:
            setting = find_setting(role, name)
            if setting.name in values:
                raise SettingRefused("refusal.setting_twice", name=setting.name)
            values[setting.name] = setting.check(fields.plain(name))
        except SettingRefused as error:
            raise fields.fail(name, str(error)) from error
    try:
        check_settings(role, values)
    except SettingRefused as error:
        raise section.fail("settings", str(error)) from error
    return values


#: Role -> its own fields of a :class:`NodeSpec`; a name server has none.
_FIELDS: Mapping[Role, Callable[[str, Section], dict[str, Any]]] = {
    Role.BROKER: _broker,
    Role.PRODUCER: _producer,
    Role.CONSUMER: _consumer,
    Role.TRANSACTION_COORDINATOR: _coordinator,
    Role.TRANSACTION_MANAGER: _manager,
    Role.RESOURCE_MANAGER: _resource_manager,
}
