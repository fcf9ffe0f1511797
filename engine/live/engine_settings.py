"""Settings of broker and store as the command line takes them: ``NAME=VALUE``, in RocketMQ's names or in ours.

``autoCreateTopicEnable=false`` and ``auto_create_topic_enable=false`` mean the same. The meaning of each setting, its
default and its source are in ``engine/broker/foundation/broker_config.py`` and ``engine/store/files/store_config.py``.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES
from engine.store.files.setting_rules import SettingsContradict, read_number

_Config = TypeVar("_Config")

#: Field -> RocketMQ's name, where it is not ours in camel case (with or without the unit at its end).
_JAVA_NAMES = {
    "bindAddress": "host",
    "brokerClusterName": "cluster_name",
    "brokerIP1": "broker_ip1",
    "listenPort": "port",
    "namesrvAddr": "name_server_addresses",
}
#: Other spellings that are about as common as the right one, and RocketMQ's own where this store's name is more
#: precise.
_OTHER_SPELLINGS = {
    "transactionTimeout": "transaction_time_out_ms",
    "maxMsgsNumBatch": "max_messages_num_batch",
    "mapedFileSizeCommitLog": "mapped_file_size_commit_log",
    "mapedFileSizeConsumeQueue": "mapped_file_size_consume_queue_entries",
    "mappedFileSizeConsumeQueue": "mapped_file_size_consume_queue_entries",
}
#: Names under which RocketMQ gives this setting in bytes.
_IN_BYTES_OF_ENTRIES = ("mapedFileSizeConsumeQueue", "mappedFileSizeConsumeQueue")
#: RocketMQ gives this one in percent: 75 for our 0.75.
_OFTEN_IN_PERCENT = ("disk_max_used_space_ratio",)
#: RocketMQ takes these in milliseconds, and many articles give them in seconds: 20 never means 20 ms.
OFTEN_IN_SECONDS = ("transaction_time_out_ms", "transaction_check_interval_ms")
_UNITS = ("_ms", "_bytes", "_hours")
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NUMBERS = {int: "whole number", float: "number"}


class BadSetting(ValueError):
    """A setting cannot be used; the message names it and what is allowed.

    :ivar fields: fields that contradict each other, where each by itself is allowed.
    """

    def __init__(self, text: str, fields: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.fields = fields


def read_assignments(texts: Iterable[str], what: str = "setting") -> dict[str, str]:
    """Return name -> text of ``NAME=VALUE``. Raises :class:`BadSetting` that says ``what`` a text is not."""
    read: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadSetting(f"{text!r} is not a {what}; write NAME=VALUE")
        read[name.strip()] = value.strip()
    return read


def apply_settings(config: _Config, assignments: Iterable[str], reserved: Mapping[str, str]) -> _Config:
    """Return a copy of the dataclass ``config`` with ``assignments`` (each ``NAME=VALUE``) applied.

    ``reserved`` maps fields that have an option of their own to that option. Raises :class:`BadSetting`.
    """
    allowed = setting_names(config)
    changes: dict[str, object] = {}
    for name, text in read_assignments(assignments).items():
        field = allowed.get(name)
        if field is None:
            raise BadSetting(_unknown(name, allowed, reserved))
        if field in reserved:
            raise BadSetting(f"{name} is set by {reserved[field]}")
        changes[field] = parse_setting(config, name, text)
    return with_settings(config, changes)


def with_settings(config: _Config, changes: Mapping[str, object]) -> _Config:
    """Return a copy of ``config`` with these values of :func:`parse_setting`.

    Raises :class:`BadSetting` where they contradict each other.
    """
    assert dataclasses.is_dataclass(config)
    assert not isinstance(config, type)
    try:
        return dataclasses.replace(config, **typing.cast("dict[str, Any]", changes))
    except SettingsContradict as error:
        text = str(error)
        for field in error.fields:
            text = text.replace(field, rocketmq_name(field))
        raise BadSetting(text, error.fields) from None


def parse_setting(config: Any, name: str, text: str, *, may_be_seconds: bool = True) -> object:
    """Return the value of the setting ``name`` of ``config``, in our unit. Raises :class:`BadSetting`."""
    field = setting_names(config)[name]
    value = parse_value(name, text, typing.get_type_hints(type(config))[field])
    if may_be_seconds and field in OFTEN_IN_SECONDS and isinstance(value, int) and value < 1_000:
        value *= 1_000
    elif field in _OFTEN_IN_PERCENT and isinstance(value, float) and value > 1:
        value /= 100
    elif name in _IN_BYTES_OF_ENTRIES and isinstance(value, int):
        value = -(-value // ENTRY_SIZE_BYTES)
    rule = config.RULES.get(field)
    if rule is not None and not rule.is_kept(value):
        or_percent = ", or up to 100 as a percentage" if field in _OFTEN_IN_PERCENT else ""
        raise BadSetting(f"{name}={text!r}: it must be {rule.allowed}{or_percent}")
    return value


def java_style_name(field: str) -> str:
    """Return the camel-case name of a field, its unit left out as RocketMQ does."""
    for unit in _UNITS:
        field = field.removesuffix(unit)
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


def setting_names(config: Any) -> dict[str, str]:
    """Return every accepted name -> field."""
    names: dict[str, str] = {}
    fields = [field.name for field in dataclasses.fields(config)]
    for field in fields:
        first, *rest = field.split("_")
        for name in (field, java_style_name(field), first + "".join(word.capitalize() for word in rest)):
            names.setdefault(name, field)
    others = _JAVA_NAMES | _OTHER_SPELLINGS
    names.update({name: field for name, field in others.items() if field in fields})
    return names


def _unknown(name: str, allowed: Mapping[str, str], reserved: Mapping[str, str]) -> str:
    """Return the message for an unknown name: the most similar name or, where none is similar, all names."""
    fields = sorted({field for field in allowed.values() if field not in reserved})
    close = difflib.get_close_matches(name, [other for other in allowed if allowed[other] not in reserved], n=1)
    if close:
        meant = rocketmq_name(allowed[close[0]])
        return f"there is no setting {name!r}; did you mean {meant}? (docs/configuration.md lists all)"
    names = "".join(f"\n  {rocketmq_name(field)}" for field in fields)
    return f"there is no setting {name!r}; allowed are:{names}"


def rocketmq_name(field: str) -> str:
    """Return RocketMQ's name of a field, or the name that it would have."""
    java_names = {ours: java for java, ours in _JAVA_NAMES.items()}
    return java_names.get(field) or java_style_name(field)


def parse_value(name: str, text: str, wanted: Any) -> object:
    """Return ``text`` as a value of the type ``wanted``. Raises :class:`BadSetting`."""
    if isinstance(wanted, types.UnionType):  # "X | None": the command line can only set an X
        wanted = next(part for part in wanted.__args__ if part is not type(None))
    if wanted is bool:
        if text.lower() not in _BOOLEANS:
            raise BadSetting(f"{name}={text!r}; allowed: true, false")
        return _BOOLEANS[text.lower()]
    if wanted in (int, float):
        try:
            number = read_number(wanted, text)
        except ValueError:
            raise BadSetting(f"{name}={text!r}; allowed: a {_NUMBERS[wanted]}") from None
        if not 0 <= number <= 2**63 - 1:
            raise BadSetting(f"{name}={text!r}; allowed: a {_NUMBERS[wanted]}, not negative")
        return number
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        for member in wanted:
            if text.lower() in (member.name.lower(), str(member.value).lower()):
                return member
        raise BadSetting(f"{name}={text!r}; allowed: {', '.join(str(member.value) for member in wanted)}")
    if typing.get_origin(wanted) is tuple:
        return tuple(part.strip() for part in text.split(";") if part.strip())
    return text
