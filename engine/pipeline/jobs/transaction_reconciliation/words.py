"""The words of the reconciliation: what its tables say of transactions and transfers.

Needs no Spark, so that a page can translate them; ``description.py`` has the Chinese.
"""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """What became of a half message."""

    OPEN = "open"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"
    GIVEN_UP = "given up"
    #: The op queue cannot be read: not committed is all that is known.
    NOT_COMMITTED = "rolled back or open"
    #: Its topic is not among those read, so nobody saw whether it was committed. No finding, no loss.
    NOT_READ = "its topic is not read"


#: Not decided: somebody still has to.
UNSETTLED = (Status.OPEN, Status.NOT_COMMITTED, Status.GIVEN_UP)


class TransactionAnomaly(StrEnum):
    """What must not have happened, although RocketMQ does not prevent it. The worst come first."""

    COMMITTED_AND_ROLLED_BACK = "committed and rolled back"
    COMMITTED_TWICE = "committed more than once"
    DECIDED_LATE = "decided again after it was settled"
    COMMITTED_WITHOUT_HALF = "committed without a half message"
    COMMITTED_WITHOUT_OP = "committed without an op message"
    OP_WITHOUT_HALF = "op message without a half message"
    ROLLED_BACK_TWICE = "rolled back more than once"


class Agreement(StrEnum):
    """What both ledgers and the message say of one transfer. The worst come first, in :data:`BAD`."""

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


#: What does not mend itself.
BAD = (
    Agreement.FROM_NOWHERE,
    Agreement.TOO_MUCH,
    Agreement.TOO_LITTLE,
    Agreement.ROLLED_BACK,
    Agreement.NO_MESSAGE,
    Agreement.GIVEN_UP,
    Agreement.NO_TRANSFER,
)


class Window(StrEnum):
    """Between which two moments the world does not fit together."""

    HALF_TO_COMMITTED = "half message stored -> committed message stored"
    DEBIT_TO_CREDIT = "debit -> credit"
