"""What the frames of the two-phase commit ask for.

The numbers lie outside of what RocketMQ uses (its request codes end below 2,000; 9000 and above are ours).
"""

from __future__ import annotations

from enum import IntEnum


class XaRequestCode(IntEnum):
    """See :mod:`engine.xa` for who sends which, and when."""

    XA_BEGIN = 9001
    XA_ENLIST = 9002
    XA_REGISTER_BRANCH = 9003
    XA_PREPARE_GLOBAL = 9004
    XA_PREPARE_BRANCH = 9005
    XA_COMMIT_GLOBAL = 9006
    XA_ROLLBACK_GLOBAL = 9007
    XA_COMMIT_BRANCH = 9008
    XA_ROLLBACK_BRANCH = 9009
    XA_QUERY_DECISION = 9010
