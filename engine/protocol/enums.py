"""Enumerations as they are spelled on the wire (RocketMQ: ``ConsumeFromWhere``, ``ConsumeType``, ``MessageModel``)."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final

#: The protocol version that GlassMQ speaks: ordinal of ``MQVersion.Version.V4_9_8``. Clients refuse some
#: features below certain versions (SQL92 pulls below 232), so every reply carries it.
PROTOCOL_VERSION: Final = 409


class LanguageCode(IntEnum):
    """The language a client is written in (JSON headers carry the name, binary headers the number)."""

    JAVA = 0
    CPP = 1
    DOTNET = 2
    PYTHON = 3
    DELPHI = 4
    ERLANG = 5
    RUBY = 6
    OTHER = 7
    HTTP = 8
    GO = 9
    PHP = 10
    OMS = 11
    RUST = 12


class ConsumeType(StrEnum):
    """The kinds of consumers: pull consumers (``CONSUME_ACTIVELY``) and push consumers with a listener."""

    CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
    CONSUME_PASSIVELY = "CONSUME_PASSIVELY"


class MessageModel(StrEnum):
    """The message models: the members of a group share the messages, or each member gets all of them."""

    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(StrEnum):
    """The start positions of a group without a stored offset. The second to fourth are deprecated but still sent.

    The order is Java's, because C++ clients send the number of the constant.
    """

    CONSUME_FROM_LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST"
    CONSUME_FROM_MIN_OFFSET = "CONSUME_FROM_MIN_OFFSET"
    CONSUME_FROM_MAX_OFFSET = "CONSUME_FROM_MAX_OFFSET"
    CONSUME_FROM_FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    CONSUME_FROM_TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class ExpressionType(StrEnum):
    """The language of a subscription expression."""

    TAG = "TAG"
    SQL92 = "SQL92"
