"""The frames between a consumer's application and its stores.

In place of each server's own protocol there is one request per operation, with a body of JSON: frames can be read in
the lab, dropped and delayed like any other. The numbers are outside the range that RocketMQ uses.
"""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any

from engine.protocol.command.command_header import CommandHeader, Int64
from engine.remoting.errors import RequestRefused

#: Port on which databases, Redis and services listen.
STORE_PORT = 9890


class StoreRequestCode(IntEnum):
    """The code of a request to a store."""

    #: ``{"sql": ..., "parameters": {...}}`` -> ``{"rows": [...], "changed": n}``
    SQL_EXECUTE = 9101
    SQL_COMMIT = 9102
    SQL_ROLLBACK = 9103
    #: ``["SET", "key", ...]`` -> the answer
    REDIS_COMMAND = 9104
    #: ``{"operation": ..., "key": ..., "by": ..., "undoes": ..., "changes": ...}`` -> ``{"times": n}``
    SERVICE_CALL = 9105


class StoreRefusalCode(IntEnum):
    """The reason why a store refuses a request."""

    UNIQUE_VIOLATION = 9181
    TRANSACTION_LOST = 9182
    WRONG_STATEMENT = 9183


class TransactionHeader(CommandHeader):
    """The header of a request to a store. ``transaction``: a number chosen by the client; 0: the statement is a
    transaction of its own.
    """

    transaction: Int64


def encode_body(value: object) -> bytes:
    """Encode as JSON."""
    return json.dumps(value, ensure_ascii=False).encode()


def decode_body(body: bytes) -> Any:
    """Decode JSON. Raises ``RequestRefused``."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise RequestRefused(f"the body is not JSON: {body[:60]!r}") from error
