"""Books as text, for the state of a stream: MessagePack of their fields, as their classes declare them."""

from __future__ import annotations

import base64
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")


def saved(books: object) -> str:
    """Return dataclasses, and what they consist of, as text. Other classes say themselves what is saved of them
    (``encode``).
    """
    return base64.b64encode(msgspec.msgpack.encode(books, enc_hook=lambda value: value.encode())).decode()


def loaded(text: str, kind: type[_T]) -> _T:
    """Return what :func:`saved` was given."""
    return msgspec.msgpack.decode(base64.b64decode(text), type=kind, dec_hook=_decode)


def _decode(kind: Any, value: object) -> object:
    return kind.decode(value)
