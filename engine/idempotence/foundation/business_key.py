"""The business key of a message: the key under which its work is done once.

The unique id (``UNIQ_KEY``, the "message id" of a RocketMQ client) is the same in every copy of one *send*: when a
broker delivers twice, or a producer's retry was stored twice. A person who sends again creates a message with another
id: only a key of the business, such as an order number, is the same in both.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable

from engine.idempotence.foundation.errors import KeyUnusable
from engine.protocol.message.message import MessageExt

#: Returns the key of a message. Raises :class:`~.errors.KeyUnusable`.
KeyOf = Callable[[MessageExt], str]

#: Longest key, in characters: the size of the stores' columns.
KEY_MAX_LENGTH = 255
#: Unicode categories that no key may contain: control characters, surrogates, unassigned code points.
_NO_TEXT = ("Cc", "Cs", "Cn")


def unique_id(message: MessageExt) -> str:
    """Return the id that the producer's client gave to the send, or the id of the stored copy if it gave none."""
    return message.message_id


def first_of_keys(message: MessageExt) -> str:
    """Return the first of the message's keys. Raises :class:`KeyUnusable` if it has none."""
    if not message.keys:
        raise KeyUnusable(f"message {unique_id(message)} has no KEYS: set keys=... when sending, or choose another key")
    return message.keys[0]


def user_property(name: str) -> KeyOf:
    """Return a function that returns the value of a user property."""

    def value_of(message: MessageExt) -> str:
        value = message.properties.get(name, "")
        if not value:
            raise KeyUnusable(f"message {unique_id(message)} has no property {name!r}")
        return value

    value_of.__name__ = f"property:{name}"
    return value_of


def name_of(key: KeyOf) -> str:
    """Return the name of a key function as users write it; for a user's own function, its Python name."""
    return _NAMES.get(key) or str(getattr(key, "__name__", type(key).__name__))


_NAMES: dict[KeyOf, str] = {unique_id: "unique-id", first_of_keys: "keys"}


def checked_key(key: object) -> str:
    """Return ``key`` if every store accepts it. Raises :class:`KeyUnusable`."""
    if not isinstance(key, str) or not key:
        raise KeyUnusable(f"a business key is a text of 1 to {KEY_MAX_LENGTH} characters, got {key!r}")
    if len(key) > KEY_MAX_LENGTH:
        raise KeyUnusable(f"a business key has at most {KEY_MAX_LENGTH} characters, got {len(key)}: {key[:40]!r} ...")
    if any(unicodedata.category(letter) in _NO_TEXT for letter in key):
        raise KeyUnusable(f"a business key has no control characters, surrogates or unassigned ones, got {key[:60]!r}")
    return key


def digest_of(body: bytes) -> str:
    """Return 16 hexadecimal digits that distinguish one body from another."""
    return hashlib.sha256(body).hexdigest()[:16]
