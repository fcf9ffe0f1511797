"""The nodes in the text of a scenario, role by role."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from engine.lab.errors import SettingRefused
from engine.lab.refusal_texts import SETTING_TWICE
from engine.lab.scenario import (
    DiskSpec,
    ListenerResult,
    ListenerSpec,
    NodeSpec,
    Role,
    SettingValue,
    TrafficSpec,
    TransactionSpec,
    TransactionWord,
)
from engine.lab.scenario_banks import parse_paying_bank, parse_receiving_bank, transaction_of
from engine.lab.scenario_yaml import Section
from engine.lab.settings import check_settings, find_setting
from engine.lab.xa_scenario import parse_cash_machine, parse_resource_bank, parse_transfers
from engine.protocol.errors import ProtocolError
from engine.protocol.names import validate_group, validate_topic
from engine.protocol.subscription_data import build_subscription_data

#: Node names are part of broker names, actors' names and links.
NODE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,19}")

#: A world of this size still steps fast enough to be watched.
NODES_MAX = 60
MESSAGES_MAX = 10_000
TIME_MAX_MS = 24 * 3_600_000
THREADS_MAX = 64
DELAY_LEVEL_MAX = 18

#: Ways to choose a queue by the business key.
SELECTORS = ("by-hash", "by-consistent-hash")

#: Features of RocketMQ that this version's nodes do not have.
_NOT_YET = ("master", "slave_of", "replicas", "acl", "unit")


def parse_node(name: str, section: Section) -> NodeSpec:
    """The node ``name``. Raises :class:`~engine.lab.errors.ScenarioError`."""
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
    section.finish(_NOT_YET)
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
    traffic = tuple(_traffic(part) for part in parts)
    for part, spec in zip(parts, traffic, strict=True) if transaction is not None else ():
        # The client refuses the one, and has no method for the other.
        if spec.delay_level:
            raise part.fail("delay_level", "is not allowed: a transactional message cannot be delayed")
        if spec.queue is not None:
            raise part.fail("queue", "is not allowed: a transactional message cannot choose its queue")
    for part in parts if bank is not None else ():
        if part.has("body"):
            raise part.fail("body", "is not allowed: the bank writes it")
    return NodeSpec(
        name,
        Role.PRODUCER,
        group=_group(section),
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
    topic = _topic(section)
    expression = section.text("expression", "*", max_length=500)
    try:
        build_subscription_data(topic, expression)
    except ProtocolError as error:
        raise section.fail("expression", str(error)) from error
    orderly = section.choice("orderly", ["true", "false"], "false") == "true"
    bank = parse_receiving_bank(section.section("bank"))
    model = section.choice("model", ["clustering", "broadcasting"], "clustering")
    if bank is not None and model != "clustering":
        raise section.fail("model", "must be clustering: a bank has one database, and its progress is the group's")
    return NodeSpec(
        name,
        Role.CONSUMER,
        group=_group(section),
        topic=topic,
        expression=expression,
        bank=bank,
        model=model,
        orderly=orderly,
        consume_from=section.choice("from", ["first", "last"], "first"),
        threads=section.integer("threads", 1, THREADS_MAX, 2),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 0),
        stop_ms=section.optional_integer("stop_ms", 0, TIME_MAX_MS),
        listener=parse_listener(section.section("listener"), orderly=orderly),
        settings=_settings(section, Role.CONSUMER),
    )


#: What only an orderly listener can return.
_ORDERLY_RESULTS = (ListenerResult.SUSPEND, ListenerResult.COMMIT, ListenerResult.ROLLBACK)


def parse_listener(section: Section | None, *, orderly: bool) -> ListenerSpec:
    """How a listener behaves; without a section it takes 10 ms and succeeds."""
    if section is None:
        return ListenerSpec()
    results = [result.value for result in ListenerResult if orderly or result not in _ORDERLY_RESULTS]
    listener = ListenerSpec(
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, 10),
        result=ListenerResult(section.choice("result", results, "success")),
        fails_first=section.optional_integer("fails_first", 0, 1_000),
        only_keys=section.words("only_keys", max_count=100),
    )
    if orderly:
        listener = dataclasses.replace(
            listener,
            commit_every=section.optional_integer("commit_every", 1, 1_000),
            suspend_ms=section.optional_integer("suspend_ms", 0, TIME_MAX_MS),
        )
    section.finish(("delay_level", "ack_index"))
    return listener


def _traffic(section: Section) -> TrafficSpec:
    key = section.text("key", "{node}-{n}", max_length=60)
    free = key.replace("{n}", "").replace("{node}", "").replace("{order}", "")
    if "{n}" not in key or not free.isprintable() or " " in key:
        raise section.fail(
            "key", f"{key!r} is not allowed; it must contain {{n}} and no space: a key names one message"
        )
    # Taken first: the key may name it.
    orders = section.integer("orders", 0, MESSAGES_MAX, 0)
    traffic = TrafficSpec(
        topic=_topic(section),
        count=section.integer("count", 0, MESSAGES_MAX, 10),
        every_ms=section.integer("every_ms", 0, TIME_MAX_MS, 100),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 500),
        key=key,
        tags=tuple(tag.strip() for tag in section.text("tag", "", max_length=200).split("|") if tag.strip()),
        body=section.text("body", "message {n}", max_length=4_000),
        queue=_queue(section),
        delay_level=section.integer("delay_level", 0, DELAY_LEVEL_MAX, 0),
        orders=orders,
    )
    section.finish(_NOT_YET)
    return traffic


def _queue(section: Section) -> int | str | None:
    word = section.text("queue", "any")
    if word == "any":
        return None
    if word in ("{n}", *SELECTORS):
        return word
    if word.isascii() and word.isdigit() and int(word) < 1_024:
        return int(word)
    raise section.fail(
        "queue", f'{word!r} is not allowed; allowed: any, "{{n}}", {", ".join(SELECTORS)}, or the number of a queue'
    )


def _topic(section: Section) -> str:
    topic = section.text("topic", max_length=200)
    try:
        validate_topic(topic)
    except ProtocolError as error:
        raise section.fail("topic", str(error)) from error
    return topic


def _group(section: Section) -> str:
    group = section.text("group", max_length=200)
    try:
        validate_group(group)
    except ProtocolError as error:
        raise section.fail("group", str(error)) from error
    return group


def _settings(section: Section, role: Role) -> dict[str, SettingValue]:
    values: dict[str, SettingValue] = {}
    fields = section.section("settings")
    if fields is None:
        return values
    for name in fields.names():
        try:
            setting = find_setting(role, name)
            if setting.name in values:
                raise SettingRefused(SETTING_TWICE, name=setting.name)
            values[setting.name] = setting.check(fields.plain(name))
        except SettingRefused as error:
            raise fields.fail(name, str(error)) from error
    try:
        check_settings(role, values)
    except SettingRefused as error:
        raise section.fail("settings", str(error)) from error
    return values
