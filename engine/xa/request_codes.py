"""The request codes of the two-phase commit.

The numbers are outside RocketMQ's (its request codes end below 2,000; 9000 and above are GlassMQ's).
"""

from __future__ import annotations

from enum import IntEnum


class XaRequestCode(IntEnum):
    """The request codes; :mod:`engine.xa` describes their senders and their order."""

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
