"""Which work a message asks for: the key under which it is done once.

The unique id (``UNIQ_KEY``, RocketMQ's "message id" of a client) is the same in every copy of one *send*: a broker that
delivers twice, a producer whose retry was stored twice. A person who sends again makes a message with another id: only
a key of the business, such as the number of an order, is the same in both.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable

from engine.idempotence.foundation.errors import KeyUnusable
from engine.protocol.message.message import MessageExt

#: The key of a message. Raises :class:`~.errors.KeyUnusable`.
KeyOf = Callable[[MessageExt], str]

#: What the stores' columns hold, in characters.
KEY_MAX_LENGTH = 255
#: Unicode's categories of what no key has: control characters, surrogates, what is not assigned.
_NO_TEXT = ("Cc", "Cs", "Cn")


def unique_id(message: MessageExt) -> str:
    """The id that the producer's client has given to the send; that of the stored copy where it has given none."""
    return message.message_id


def first_of_keys(message: MessageExt) -> str:
    """The first of the message's keys. Raises :class:`KeyUnusable` where it has none."""
    if not message.keys:
        raise KeyUnusable(f"message {unique_id(message)} has no KEYS: set keys=... when sending, or choose another key")
    return message.keys[0]


def user_property(name: str) -> KeyOf:
    """The value of a user property."""

    def value_of(message: MessageExt) -> str:
        value = message.properties.get(name, "")
        if not value:
            raise KeyUnusable(f"message {unique_id(message)} has no property {name!r}")
        return value

    value_of.__name__ = f"property:{name}"
    return value_of


def name_of(key: KeyOf) -> str:
    """As users write it; a function of their own by its name."""
    return _NAMES.get(key) or str(getattr(key, "__name__", type(key).__name__))


_NAMES: dict[KeyOf, str] = {unique_id: "unique-id", first_of_keys: "keys"}


def checked_key(key: object) -> str:
    """``key`` as every store takes it. Raises :class:`KeyUnusable`."""
    if not isinstance(key, str) or not key:
        raise KeyUnusable(f"a business key is a text of 1 to {KEY_MAX_LENGTH} characters, got {key!r}")
    if len(key) > KEY_MAX_LENGTH:
        raise KeyUnusable(f"a business key has at most {KEY_MAX_LENGTH} characters, got {len(key)}: {key[:40]!r} ...")
    if any(unicodedata.category(letter) in _NO_TEXT for letter in key):
        raise KeyUnusable(f"a business key has no control characters, surrogates or unassigned ones, got {key[:60]!r}")
    return key


def digest_of(body: bytes) -> str:
    """16 hexadecimal digits that tell one body from another."""
    return hashlib.sha256(body).hexdigest()[:16]
