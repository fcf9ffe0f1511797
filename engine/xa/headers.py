"""Headers of the frames of :mod:`engine.xa`."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int64


class BeginRequestHeader(CommandHeader):
    """XA_BEGIN: ``key`` is the application's own name for the transaction."""

    key: str


class XidHeader(CommandHeader):
    """The reply to XA_BEGIN, and every request about a global transaction or about the receiver's branch of it."""

    xid: str


class EnlistRequestHeader(CommandHeader):
    """XA_ENLIST: run one half of this transfer, as a branch of ``xid``. ``doing`` is ``debit`` or ``credit``."""

    xid: str
    doing: str
    key: str
    from_account: str
    to_account: str
    amount: Int64


class RegisterBranchRequestHeader(CommandHeader):
    """XA_REGISTER_BRANCH: the resource manager ``resource``, which listens at ``address``, joins ``xid``."""

    xid: str
    resource: str
    address: str


class VoteResponseHeader(CommandHeader):
    """The reply to XA_PREPARE_BRANCH (a vote) and to XA_PREPARE_GLOBAL (whether all votes were yes)."""

    is_prepared: bool
    reason: str = ""


class DecisionResponseHeader(CommandHeader):
    """The reply to XA_COMMIT_GLOBAL, XA_ROLLBACK_GLOBAL and XA_QUERY_DECISION, with a
    :class:`~engine.xa.states.Decision`.

    ``reason`` says why it is a rollback.
    """

    decision: str
    reason: str = ""
