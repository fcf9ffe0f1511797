"""The kinds of findings of the audit, and how sure one is."""

from __future__ import annotations

from enum import StrEnum


class Certainty(StrEnum):
    """How sure a finding is."""

    #: What is stored shows it, or what a broker or a client reported.
    CERTAIN = "certain"
    #: A report that was lost would explain it, too.
    LIKELY = "likely"
    #: What would decide it is not known.
    POSSIBLE = "possible"


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
