"""The settings of a node that a scenario may change, and their allowed values.

They are the fields of the engine's own settings classes, under our names or RocketMQ's (``pull_interval_ms`` is
``pullInterval``), without those that the scenario itself decides: names, addresses, the group's model.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.broker.foundation.broker_config import java_name
from engine.client.foundation.client_config import ClientConfig
from engine.fields.field import Field, Kind
from engine.fields.refusal import FieldRefused
from engine.kafka.client.consumer_config import ConsumerConfig as KafkaConsumerConfig
from engine.kafka.client.consumer_config import IsolationLevel, OffsetReset
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.records.compression import SPOKEN_CODECS
from engine.lab.scenario.errors import SettingRefused
from engine.lab.scenario.kinds.node_kinds import NODE_KINDS
from engine.lab.scenario.kinds.node_spec import SettingValue, System
from engine.replication.ha.ha_config import HaRole, ReplicaAcks
from engine.texts import Text

#: Small files: a lab world has many, and reads them whole.
LAB_COMMIT_LOG_FILE_BYTES = 1 << 20
_LAB_DEFAULTS: Mapping[str, SettingValue] = {"mapped_file_size_commit_log": LAB_COMMIT_LOG_FILE_BYTES}

#: No timer needs to be longer than a month, no size larger than a 32-bit number.
_LONGEST_MS = 31 * 86_400_000
_GREATEST = (1 << 31) - 1
TEXT_MAX_LENGTH = 200

#: Types of fields whose values are chosen by a word -> meaning of each word.
_CHOICES: Mapping[str, Mapping[str, Any]] = {
    # A broker becomes a slave by its ``slave_of``.
    "HaRole": {role.value: role for role in HaRole if role is not HaRole.SLAVE},
    "Codec": {codec.name.lower(): codec for codec in SPOKEN_CODECS},
    "ReplicaAcks": {acks.value: acks for acks in ReplicaAcks},
    "IsolationLevel": {level.value: level for level in IsolationLevel},
    "OffsetReset": {reset.value: reset for reset in OffsetReset},
}

#: Set by the scenario or by the lab.
_NOT_SETTABLE = frozenset(
    {
        "acl_enable",
        "bootstrap",
        "broker_id",
        "broker_ip1",
        "broker_name",
        "client_id",
        "client_ip",
        "cluster_name",
        "consume_thread_max",
        "consume_thread_min",
        "consume_timestamp_ms",
        "flush_disk_type",
        "group_id",
        "ha_host",
        "host",
        "instance_name",
        "name_server_addresses",
        "node_id",
        "port",
    }
)

#: A wait of 0 ms is no wait.
_MAY_BE_ZERO = ("linger_ms",)
#: Settings with another name in Kafka.
_OF_KAFKA = {
    "codec": "compression.type",
    "flush_before_answer": "log.flush.interval.messages",
    "max_in_flight": "max.in.flight.requests.per.connection",
}
#: Fields without a default that a scenario cannot set.
_NEEDED: Mapping[type, dict[str, Any]] = {
    ClientConfig: {"name_server_addresses": ("127.0.0.1:9876",)},
    KafkaProducerConfig: {"bootstrap": "127.0.0.1:9092"},
    KafkaConsumerConfig: {"bootstrap": "127.0.0.1:9092", "group_id": ""},
}

_TYPES: Mapping[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
_KINDS: Mapping[type, Kind] = {int: "integer", float: "number", bool: "switch", str: "text"}

#: Endings of names of durations in milliseconds; RocketMQ's own names spell it out or not at all.
_DURATION_WORDS = ("_ms", "_mills", "_millis")
_UNITS: Mapping[str, str] = {"_bytes": "B", "_mib": "MiB", "_hours": "h", "_minutes": "min", "_ratio": "ratio"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of one kind of node.

    :ivar unit: ``ms``, ``B``, ``MiB``, ``h``, ``min``, ``ratio``, or empty for a plain number, switch or text.
    :ivar choices: all that a text may be; empty: any text.
    """

    name: str
    kind: type
    default: SettingValue
    unit: str
    choices: tuple[str, ...] = ()

    @property
    def is_duration(self) -> bool:
        """Return whether the setting is a duration in milliseconds."""
        return self.unit == "ms"

    def check(self, value: object, name: str = "", *, of_text: bool = False) -> SettingValue:
        """Return ``value`` as the engine accepts it; ``name``: the setting's, as it was given.

        Raises :class:`SettingRefused`.
        """
        low, high = (0, TEXT_MAX_LENGTH) if self.kind is str else self.bounds
        kind: Kind = "choice" if self.choices else _KINDS[self.kind]
        return read_setting(Field(name or self.name, kind, low, high, allowed=self.choices), value, of_text=of_text)

    @property
    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest number. An interval of 0 would never let time pass, so 0 must be the
        default.
        """
        low = min(1, int(self.default)) if isinstance(self.default, int | float) else 0
        if self.name in _MAY_BE_ZERO:
            low = 0
        if self.kind is float:
            return 0, 1 if self.unit == "ratio" else _GREATEST
        return low, _LONGEST_MS if self.is_duration else _GREATEST


def read_setting(field: Field, value: object, *, of_text: bool = False) -> SettingValue:
    """Return ``value`` as the field has it. Raises :class:`SettingRefused`."""
    try:
        read: SettingValue = field.read(value, field.name, of_text=of_text)
    except FieldRefused as refused:
        raise SettingRefused(refused.text) from None
    return read


def _unit_of(name: str) -> str:
    if name.endswith(_DURATION_WORDS):
        return "ms"
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")


def _settings_of_class(config: type) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for field in dataclasses.fields(config):
        if field.name in _NOT_SETTABLE or field.default is dataclasses.MISSING:
            continue
        words = _CHOICES.get(str(field.type), {})
        if words:
            word_default = next(word for word, meant in words.items() if meant == field.default)
            found[field.name] = Setting(field.name, str, word_default, "", tuple(words))
        elif (kind := _TYPES.get(str(field.type))) is not None:
            default = _LAB_DEFAULTS.get(field.name, field.default)
            found[field.name] = Setting(field.name, kind, default, _unit_of(field.name))
    return found


@cache
def _settings_of_classes(configs: tuple[type, ...]) -> Mapping[str, Setting]:
    return {name: setting for config in configs for name, setting in _settings_of_class(config).items()}


def settings_of(role: str) -> Mapping[str, Setting]:
    """Return the settings of one kind of node, by name."""
    return _settings_of_classes(NODE_KINDS[role].configs)


def own_name(role: str, name: str) -> str:
    """Return the setting's name in the system that it comes from: ``pullInterval``, ``linger.ms``."""
    match NODE_KINDS[role].spec.system:
        case System.RAFT:
            return name
        case System.KAFKA:
            return _OF_KAFKA.get(name) or name.replace("_", ".")
        case System.ROCKETMQ:
            return java_name(name)


def find_setting(role: str, name: str) -> Setting:
    """Return the setting with this name, ours or RocketMQ's. Raises :class:`SettingRefused` with the likely one."""
    known = settings_of(role)
    if name in known:
        return known[name]
    for setting in known.values():
        if own_name(role, setting.name) == name:
            return setting
    likely = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = (
        Text("refusal.did_you_mean", likely=", ".join(likely))
        if likely
        else Text("refusal.allowed", known=", ".join(known))
    )
    raise SettingRefused("refusal.no_setting", role=role, name=name, hint=hint)


def check_settings(role: str, values: Mapping[str, SettingValue]) -> None:
    """Check ``values`` together with the engine's own classes. Raises :class:`SettingRefused`."""
    for config in NODE_KINDS[role].configs:
        own = of_class(config, values) | _NEEDED.get(config, {})
        try:
            config(**own)
        except ValueError as error:
            raise SettingRefused("refusal.settings_clash", problem=str(error)) from error


@cache
def _field_types(config: type) -> Mapping[str, str]:
    return {field.name: str(field.type) for field in dataclasses.fields(config)}


def of_class(config: type, values: Mapping[str, SettingValue]) -> dict[str, Any]:
    """Return the ``values`` that are fields of ``config``, already checked: ``config(**...)`` accepts them."""
    types = _field_types(config)
    return {
        name: _CHOICES[types[name]][str(value)] if types[name] in _CHOICES else value
        for name, value in values.items()
        if name in types
    }
