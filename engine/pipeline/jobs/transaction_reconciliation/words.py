"""Terms of the reconciliation for transactions and transfers in its tables.

It needs no Spark, so that a page can translate them; the texts are in ``engine/texts/*.json``.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Status of a half message."""

    OPEN = "open"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    GIVEN_UP = "given up"
    #: The op queue cannot be read: it is only known that it was not committed.
    NOT_COMMITTED = "rolled back or open"
    #: Its topic is not among those read, so a commit would not have been seen. Not a finding, not a loss.
    NOT_READ = "its topic is not read"


#: Not decided: a decision is still pending.
UNSETTLED = (Status.OPEN, Status.NOT_COMMITTED, Status.GIVEN_UP)


class TransactionAnomaly(StrEnum):
    """Anomalies that RocketMQ does not prevent. The worst come first."""

    COMMITTED_AND_ROLLED_BACK = "committed and rolled back"
    COMMITTED_TWICE = "committed more than once"
    DECIDED_LATE = "decided again after it was settled"
    COMMITTED_WITHOUT_HALF = "committed without a half message"
    COMMITTED_WITHOUT_OP = "committed without an op message"
    OP_WITHOUT_HALF = "op message without a half message"
    ROLLED_BACK_TWICE = "rolled back more than once"


class Agreement(StrEnum):
    """Agreement of both ledgers and the message on one transfer. The worst come first, in :data:`BAD`."""

    FROM_NOWHERE = "credited, never debited"
    TOO_MUCH = "credited more than was debited"
    TOO_LITTLE = "credited less than was debited"
    ROLLED_BACK = "debited, but its message was rolled back"
    NO_MESSAGE = "debited, but it has no message"
    GIVEN_UP = "debited, but its message was given up"
    NO_TRANSFER = "its message was committed, but nothing was debited"
    UNDECIDED = "on its way: debited, its message is not decided yet"
    ON_ITS_WAY = "on its way: debited, not credited yet"
    AGREED = "debited and credited"


#: Disagreements that do not resolve themselves.
BAD = tuple(one for one in Agreement if one not in (Agreement.UNDECIDED, Agreement.ON_ITS_WAY, Agreement.AGREED))


class Window(StrEnum):
    """A span of time in which the data is inconsistent."""

    HALF_TO_COMMITTED = "half message stored -> committed message stored"
    DEBIT_TO_CREDIT = "debit -> credit"
