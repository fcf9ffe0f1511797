"""What a stream must not forget of the ledgers from one micro-batch to the next, nor over a restart.

The ledgers are read anew each time, and the state of the facts holds the messages; this says how far the two fit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class LedgerMemory:
    """Kept beside the facts, see :meth:`StreamState.keep_memory`.

    :ivar unknown: from when to when, ms, debits were made whose messages may not have been read, or may be forgotten.
    :ivar without_transfer: keys of committed messages that no debit belongs to; bounded by who finds them.
    """

    unknown: tuple[int, int] | None = None
    without_transfer: tuple[str, ...] = ()

    @classmethod
    def until(cls, at_ms: int) -> LedgerMemory:
        """Of every debit until then, the message may not have been read."""
        return cls(unknown=(0, at_ms))

    def with_unknown(self, span: tuple[int, int] | None) -> LedgerMemory:
        """Debits of this time are unknown, too; and all between, for one span holds them all."""
        spans = [one for one in (self.unknown, span) if one is not None]
        if not spans:
            return self
        return replace(self, unknown=(min(first for first, _ in spans), max(last for _, last in spans)))

    def with_without_transfer(self, keys: Sequence[str]) -> LedgerMemory:
        """These, instead of those that were known."""
        return replace(self, without_transfer=tuple(keys))

    def encode(self) -> str:
        """As JSON."""
        return json.dumps({"unknown": self.unknown, "without_transfer": self.without_transfer}, ensure_ascii=False)

    @classmethod
    def decode(cls, text: str) -> LedgerMemory:
        """What :meth:`encode` made."""
        fields = json.loads(text)
        unknown = fields["unknown"]
        return cls(None if unknown is None else (unknown[0], unknown[1]), tuple(fields["without_transfer"]))
