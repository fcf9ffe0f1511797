"""Parsing of the nodes in a scenario, role by role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.filter.compiler import compile_expression
from engine.filter.errors import FilterSyntaxError
from engine.lab.scenario.errors import SettingRefused
from engine.lab.scenario.listener_spec import ListenerSpec
from engine.lab.scenario.scenario import (
    DiskSpec,
    NodeSpec,
    Role,
    Scenario,
    SettingValue,
    TransactionSpec,
    TransactionWord,
)
from engine.lab.scenario.scenario_banks import (
    parse_cash_machine,
    parse_paying_bank,
    parse_receiving_bank,
    parse_resource_bank,
    parse_transfers,
    transaction_of,
)
from engine.lab.scenario.scenario_listener import parse_listener, parse_work
from engine.lab.scenario.scenario_names import NOT_YET, TIME_MAX_MS, parse_group, parse_topic
from engine.lab.scenario.scenario_traffic import parse_commands, parse_kafka_traffic, parse_traffic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.settings import check_settings, find_setting
from engine.lab.scenario.traffic_spec import SendMode
from engine.protocol.body.subscription_data import SUBSCRIBE_ALL, build_subscription_data
from engine.protocol.enums import ExpressionType
from engine.protocol.errors import ProtocolError
from engine.runtime.lab.lab_page_cache import PageCacheLimits

THREADS_MAX = 64
TRAFFIC_MAX = 20
PARTITIONS_MAX = 64
#: Field of :class:`PageCacheLimits` -> its bounds.
_CACHE_FIELDS = {
    "read_ahead_pages": (1, 64),
    "dirty_percent": (1, 100),
    "seek_us": (0, 1_000_000),
    "page_read_us": (0, 1_000_000),
    "page_write_us": (0, 1_000_000),
}


def parse_node(name: str, section: Section) -> NodeSpec:
    """Parse the node ``name``. Raises :class:`~engine.lab.scenario.errors.ScenarioError`."""
    role = Role(section.choice("role", list(Role)))
    fields = _FIELDS[role](name, section) if role in _FIELDS else {}
    node = NodeSpec(name, role, settings=_settings(section, role), **fields)
    section.finish(NOT_YET)
    return node


def _broker(name: str, section: Section) -> dict[str, Any]:
    return {
        "flush": section.choice("flush", ["async", "sync"], "async"),
        "slave_of": section.text("slave_of", "", max_length=20),
        **_coordinator(name, section),
    }


def _coordinator(name: str, section: Section) -> dict[str, Any]:
    return {"disk": section.part("disk", parse_disk) or DiskSpec()}


def parse_disk(section: Section) -> DiskSpec:
    """Parse the costs of a disk, and the memory before it."""
    fsync_ms = section.integer("fsync_ms", 0, 60_000, DiskSpec().fsync_ms)
    cache_pages = section.optional_integer("cache_pages", 8, 1_024)
    if cache_pages is None:
        for field in _CACHE_FIELDS:
            if section.has(field):
                raise section.fail(field, "is allowed only with cache_pages")
        return DiskSpec(fsync_ms)
    usual = PageCacheLimits(cache_pages)._asdict()
    others = {field: section.integer(field, *bounds, usual[field]) for field, bounds in _CACHE_FIELDS.items()}
    return DiskSpec(fsync_ms, PageCacheLimits(cache_pages, **others))


def _manager(name: str, section: Section) -> dict[str, Any]:
    return {"transfers": section.part("transfers", lambda fields: parse_transfers(fields, name))}


def _resource_manager(name: str, section: Section) -> dict[str, Any]:
    bank = section.part("bank", parse_resource_bank)
    if bank is None:
        raise section.fail("bank", "is missing: a resource manager has a bank")
    return {"bank": bank, "cash_machine": section.part("cash_machine", parse_cash_machine)}


def _database(name: str, section: Section) -> dict[str, Any]:
    return {"stock": section.integer("stock", 0, 1_000_000, 100), **_coordinator(name, section)}


def _redis(name: str, section: Section) -> dict[str, Any]:
    return {"replica_lag_ms": section.integer("replica_lag_ms", 0, TIME_MAX_MS, 1_000)}


def _producer(name: str, section: Section) -> dict[str, Any]:
    transaction = section.part("transaction", _transaction)
    bank = section.part("bank", parse_paying_bank)
    if bank is not None:
        if transaction is not None:
            raise section.fail("transaction", "is not allowed with bank: the bank's database says how it ended")
        transaction = transaction_of(bank)
    parts = section.sections("traffic", max_count=TRAFFIC_MAX)
    traffic = tuple(parse_traffic(part) for part in parts)
    for part, spec in zip(parts, traffic, strict=True) if transaction is not None else ():
        # The client refuses the first, and has no method for the second.
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
    # Only a check can be answered by a look-up.
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
    detect_loss = section.switch("detect_loss", default=False)
    if detect_loss and expression != SUBSCRIBE_ALL:
        raise section.fail(
            "detect_loss", "needs all messages, no expression and no sql: filtered messages would seem lost"
        )
    return {
        "group": parse_group(section),
        "topic": topic,
        "detect_loss": detect_loss,
        "expression": expression,
        "expression_type": expression_type,
        "bank": bank,
        "work": section.part("work", parse_work),
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
    """Parse the filter of a consumer: ``expression:`` of tags, or ``sql:``."""
    expression, sql = section.text("expression", "*", max_length=500), section.text("sql", "", max_length=500)
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


def _kafka_producer(name: str, section: Section) -> dict[str, Any]:
    parts = section.sections("traffic", max_count=TRAFFIC_MAX)
    return {"traffic": tuple(parse_kafka_traffic(part) for part in parts), **_kafka_client(section)}


def _kafka_consumer(name: str, section: Section) -> dict[str, Any]:
    words = section.words("partitions", max_count=PARTITIONS_MAX)
    if not all(word.isascii() and word.isdigit() and int(word) < PARTITIONS_MAX for word in words):
        raise section.fail("partitions", f"must be a list of numbers below {PARTITIONS_MAX}")
    return {
        "group": parse_group(section),
        "topic": parse_topic(section),
        "partitions": tuple(int(word) for word in words),
        **_kafka_client(section),
    }


def _kafka_client(section: Section) -> dict[str, Any]:
    return {
        "broker": section.text("broker", "", max_length=20),
        "start_ms": section.integer("start_ms", 0, TIME_MAX_MS, 0),
        "stop_ms": section.optional_integer("stop_ms", 0, TIME_MAX_MS),
    }


def check_slaves(nodes: Section, scenario: Scenario) -> None:
    """Check the slaves as a whole: the broker that each slave follows."""
    masters = [node.name for node in scenario.of_role(Role.BROKER) if not node.slave_of]
    for node in scenario.of_role(Role.BROKER):
        if node.slave_of and node.slave_of not in masters:
            known = ", ".join(masters) or "there is none"
            raise nodes.fail(node.name, f"slave_of {node.slave_of!r} is not a master broker; allowed: {known}")


def _raft_peer(name: str, section: Section) -> dict[str, Any]:
    return {"is_voter": section.switch("voter", default=True), **_coordinator(name, section)}


def _raft_client(name: str, section: Section) -> dict[str, Any]:
    parts = section.sections("traffic", max_count=TRAFFIC_MAX)
    return {
        "traffic": tuple(parse_commands(part) for part in parts),
        "start_ms": section.integer("start_ms", 0, TIME_MAX_MS, 0),
        "stop_ms": section.optional_integer("stop_ms", 0, TIME_MAX_MS),
    }


def check_raft(nodes: Section, scenario: Scenario) -> None:
    """Check the Raft nodes as a whole: clients need a group."""
    voters = [node for node in scenario.of_role(Role.RAFT_PEER) if node.is_voter]
    for node in (*scenario.of_role(Role.RAFT_PEER), *scenario.of_role(Role.RAFT_CLIENT)):
        if not voters:
            raise nodes.fail(node.name, "needs a group: at least 1 node with role raft_peer and voter: true")


def check_kafka(nodes: Section, scenario: Scenario) -> None:
    """Check the Kafka nodes as a whole: the broker of each client, and the topics and partitions there."""
    brokers = [node.name for node in scenario.of_role(Role.KAFKA_BROKER)]
    controllers = scenario.of_role(Role.KAFKA_CONTROLLER)
    if controllers and (len(controllers) > 1 or not brokers):
        raise nodes.fail(controllers[-1].name, "is a kafka_controller: 1 is allowed, beside brokers of Kafka")
    partitions = {topic.name: topic.queues for topic in scenario.topics}
    for node in (*scenario.of_role(Role.KAFKA_PRODUCER), *scenario.of_role(Role.KAFKA_CONSUMER)):
        if controllers and node.broker:
            raise nodes.fail(node.name, "broker is not allowed with a kafka_controller: any broker says who leads")
        if not controllers and node.broker not in (brokers if node.broker or len(brokers) != 1 else ("",)):
            what = f"{node.broker!r} is not a node with role kafka_broker" if node.broker else "is missing"
            raise nodes.fail(node.name, f"broker {what}; allowed: {', '.join(brokers) or 'there is none'}")
        for topic in (node.topic, *(traffic.topic for traffic in node.traffic)):
            if topic and topic not in partitions:
                raise nodes.fail(
                    node.name, f"topic {topic!r} is not among topics: no Kafka broker creates it by itself"
                )
        for partition in node.partitions:
            if partition >= partitions[node.topic]:
                raise nodes.fail(
                    node.name, f"partition {partition}: {node.topic} has {partitions[node.topic]}, from 0 on"
                )


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
    Role.DATABASE: _database,
    Role.REDIS: _redis,
    Role.KAFKA_BROKER: _coordinator,
    Role.KAFKA_CONTROLLER: _coordinator,
    Role.KAFKA_PRODUCER: _kafka_producer,
    Role.KAFKA_CONSUMER: _kafka_consumer,
    Role.RAFT_PEER: _raft_peer,
    Role.RAFT_CLIENT: _raft_client,
}
