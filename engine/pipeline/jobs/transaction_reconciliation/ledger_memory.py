"""The state about the ledgers that a stream keeps between micro-batches and across restarts.

The ledgers are read again each time, and the state of the facts holds the messages; this records how far the two
correspond.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class LedgerMemory:
    """Memory of the ledgers, stored with the facts by :meth:`StreamState.keep_memory`.

    :ivar unknown: time span in ms of debits whose messages may not have been read, or may be forgotten.
    :ivar without_transfer: keys of committed messages without a debit; bounded by the caller.
    """

    unknown: tuple[int, int] | None = None
    without_transfer: tuple[str, ...] = ()

    @classmethod
    def until(cls, at_ms: int) -> LedgerMemory:
        """Return a memory in which the message of every debit until ``at_ms`` may not have been read."""
        return cls(unknown=(0, at_ms))

    def with_unknown(self, span: tuple[int, int] | None) -> LedgerMemory:
        """Return a memory in which debits of this time span are unknown, too, and all in between, as one span holds
        them.
        """
        spans = [one for one in (self.unknown, span) if one is not None]
        if not spans:
            return self
        return replace(self, unknown=(min(first for first, _ in spans), max(last for _, last in spans)))

    def with_without_transfer(self, keys: Sequence[str]) -> LedgerMemory:
        """Return a memory with these keys instead of the present ones."""
        return replace(self, without_transfer=tuple(keys))

    def encode(self) -> str:
        """Encode as JSON."""
        return json.dumps({"unknown": self.unknown, "without_transfer": self.without_transfer}, ensure_ascii=False)

    @classmethod
    def decode(cls, text: str) -> LedgerMemory:
        """Decode what :meth:`encode` returned."""
        fields = json.loads(text)
        unknown = fields["unknown"]
        return cls(None if unknown is None else (unknown[0], unknown[1]), tuple(fields["without_transfer"]))
