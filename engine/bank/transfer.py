"""One transfer: an amount from an account of one bank to an account of another, and its encoding in a message.

The body is JSON that people can read, ``{"from": "A", "to": "B", "amount": 10000}``. The key of the message is the
number of the transfer: with it a check-back finds the debit, and the receiving bank finds a credit that it has made
already.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from engine.bank.errors import NotATransfer
from engine.protocol.message.message import Message, MessageExt

#: The maximum amount, so that no balance ever exceeds SQLite's INTEGER of 64 bits.
AMOUNT_MAX = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer. ``amount`` is an integer above 0; ``key`` identifies the transfer."""

    key: str
    from_account: str
    to_account: str
    amount: int

    def message(self, topic: str, tags: str | None = None) -> Message:
        """Create the message that asks the other bank for the credit."""
        return Message(topic, self.body, tags=tags, keys=self.key)

    @property
    def body(self) -> bytes:
        """Encode the body of the message."""
        return json.dumps({"from": self.from_account, "to": self.to_account, "amount": self.amount}).encode()

    @classmethod
    def of(cls, message: Message | MessageExt) -> Transfer:
        """Read the transfer in ``message``. Raises :class:`NotATransfer`."""
        try:
            fields = json.loads(message.body)
        except (ValueError, RecursionError) as error:
            raise NotATransfer(f"the body of a transfer is a JSON object, got {message.body[:60]!r}") from error
        names = ("from", "to", "amount")
        if not isinstance(fields, dict) or sorted(fields) != sorted(names):
            raise NotATransfer(f"a transfer has the fields {', '.join(names)}, got {message.body[:60]!r}")
        source, target, amount = (fields[name] for name in names)
        if not (isinstance(source, str) and isinstance(target, str) and _is_name(source) and _is_name(target)):
            raise NotATransfer(f"from and to are names of accounts, got {message.body[:60]!r}")
        if not isinstance(amount, int) or isinstance(amount, bool) or not 0 < amount <= AMOUNT_MAX:
            raise NotATransfer(f"amount is a whole number from 1 to {AMOUNT_MAX}, got {message.body[:60]!r}")
        if not message.keys:
            raise NotATransfer("the key of the message must be the number of the transfer; it has none")
        return cls(message.keys[0], source, target, amount)


def _is_name(text: str) -> bool:
    """Return whether SQLite can store the name: JSON allows half of a surrogate pair, UTF-8 does not."""
    return bool(text) and text.isprintable()
