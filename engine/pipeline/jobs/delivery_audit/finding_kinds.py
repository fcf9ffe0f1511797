"""The kinds of findings of the audit."""

from __future__ import annotations

#: Kinds of findings, the worst first.
KINDS = (
    "lost",
    "unknown",
    "acknowledged, not stored",
    "duplicated",
    "out of order",
    "too sparse",
    "not consumed",
    "not reported",
    "consumed twice",
    "failed",
)
