"""The nodes in the text of a scenario, role by role."""

from __future__ import annotations

from collections.abc import Sequence

from engine.filter.compiler import compile_expression
from engine.filter.errors import FilterSyntaxError
from engine.lab.scenario.errors import SettingRefused
from engine.lab.scenario.scenario import DiskSpec, NodeSpec, Role, SettingValue, TransactionSpec, TransactionWord
from engine.lab.scenario.scenario_banks import parse_paying_bank, parse_receiving_bank, transaction_of
from engine.lab.scenario.scenario_listener import parse_listener
from engine.lab.scenario.scenario_names import NOT_YET, TIME_MAX_MS, parse_group, parse_topic
from engine.lab.scenario.scenario_traffic import parse_traffic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.settings import check_settings, find_setting
from engine.lab.scenario.traffic_spec import SendMode
from engine.lab.scenario.xa_scenario import parse_cash_machine, parse_resource_bank, parse_transfers
from engine.protocol.body.subscription_data import build_subscription_data
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import ProtocolError

THREADS_MAX = 64


def parse_node(name: str, section: Section) -> NodeSpec:
    """The node ``name``. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    role = Role(section.choice("role", [role.value for role in Role]))
    if role is Role.PRODUCER:
        node = _producer(name, section)
    elif role is Role.CONSUMER:
        node = _consumer(name, section)
    elif role is Role.BROKER:
        node = _broker(name, section)
    elif role is Role.TRANSACTION_COORDINATOR:
        node = NodeSpec(name, role, disk=_disk(section), settings=_settings(section, role))
    elif role is Role.TRANSACTION_MANAGER:
        transfers = parse_transfers(section.section("transfers"), name)
        node = NodeSpec(name, role, transfers=transfers, settings=_settings(section, role))
    elif role is Role.RESOURCE_MANAGER:
        bank, machine = parse_resource_bank(section), parse_cash_machine(section.section("cash_machine"))
        node = NodeSpec(name, role, bank=bank, cash_machine=machine, settings=_settings(section, role))
    else:
        node = NodeSpec(name, role, settings=_settings(section, role))
    section.finish(NOT_YET)
    return node


def _broker(name: str, section: Section) -> NodeSpec:
    flush = section.choice("flush", ["async", "sync"], "async")
    return NodeSpec(name, Role.BROKER, flush=flush, disk=_disk(section), settings=_settings(section, Role.BROKER))


def _disk(section: Section) -> DiskSpec:
    fields, disk = section.section("disk"), DiskSpec()
    if fields is not None:
        disk = DiskSpec(fields.integer("fsync_ms", 0, 60_000, disk.fsync_ms))
        fields.finish()
    return disk


def _producer(name: str, section: Section) -> NodeSpec:
    transaction = _transaction(section.section("transaction"))
    bank = parse_paying_bank(section.section("bank"))
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
    return NodeSpec(
        name,
        Role.PRODUCER,
        group=parse_group(section),
        traffic=traffic,
        transaction=transaction,
        bank=bank,
        cash_machine=parse_cash_machine(section.section("cash_machine")) if bank is not None else None,
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 0),
        stop_ms=section.optional_integer("stop_ms", 0, TIME_MAX_MS),
        settings=_settings(section, Role.PRODUCER),
    )


#: What only a check can answer.
_CHECK_WORDS = (TransactionWord.LOOKED_UP,)


def _transaction(section: Section | None) -> TransactionSpec | None:
    if section is None:
        return None
    usual = TransactionSpec()
    spec = TransactionSpec(
        executes=_transaction_words(section, "executes", [w for w in TransactionWord if w not in _CHECK_WORDS])
        or usual.executes,
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, usual.duration_ms),
        checks=_transaction_words(section, "checks", list(TransactionWord)) or usual.checks,
        check_duration_ms=section.integer("check_duration_ms", 0, TIME_MAX_MS, usual.check_duration_ms),
    )
    section.finish()
    return spec


def _transaction_words(section: Section, field: str, allowed: Sequence[TransactionWord]) -> tuple[TransactionWord, ...]:
    """One word, or several separated by commas; empty where nothing stands."""
    text = section.text(field, "", max_length=200)
    words = [word.strip() for word in text.split(",")] if text else []
    for word in words:
        if word not in allowed:
            raise section.fail(field, f"{word!r} is not allowed; allowed: {', '.join(allowed)}")
    return tuple(TransactionWord(word) for word in words)


def _consumer(name: str, section: Section) -> NodeSpec:
    topic = parse_topic(section)
    expression, expression_type = _expression(section, topic)
    orderly = section.choice("orderly", ["true", "false"], "false") == "true"
    bank = parse_receiving_bank(section.section("bank"))
    consume_from = section.choice("from", ["first", "last", "timestamp"], "first")
    from_ms = section.optional_integer("from_ms", 0, TIME_MAX_MS)
    if from_ms is not None and consume_from != "timestamp":
        raise section.fail("from_ms", "is allowed only with from: timestamp")
    model = section.choice("model", ["clustering", "broadcasting"], "clustering")
    if bank is not None and model != "clustering":
        raise section.fail("model", "must be clustering: a bank has one database, and its progress is the group's")
    return NodeSpec(
        name,
        Role.CONSUMER,
        group=parse_group(section),
        topic=topic,
        expression=expression,
        expression_type=expression_type,
        bank=bank,
        model=model,
        orderly=orderly,
        consume_from=consume_from,
        from_ms=from_ms,
        threads=section.integer("threads", 1, THREADS_MAX, 2),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 0),
        stop_ms=section.optional_integer("stop_ms", 0, TIME_MAX_MS),
        listener=parse_listener(section.section("listener"), orderly=orderly),
        settings=_settings(section, Role.CONSUMER),
    )


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
