"""Headers of transactional messages: codes 37, 39 and 323."""

from __future__ import annotations

from engine.protocol.command.command_header import CommandHeader, Int32, Int64


class EndTransactionRequestHeader(CommandHeader):
    """The header of END_TRANSACTION (37), oneway: the outcome of the local transaction.

    ``commit_or_rollback`` is a transaction type of ``system_flags`` (8 commit, 12 rollback, 0 unknown);
    ``tran_state_table_offset`` and ``commit_log_offset`` are the half message's offsets in its queue and in the log.
    ``from_transaction_check`` is true in an answer to a check and false in the sender's first report.
    """

    producer_group: str
    tran_state_table_offset: Int64
    commit_log_offset: Int64
    commit_or_rollback: Int32
    from_transaction_check: bool | None = False
    msg_id: str | None = None
    transaction_id: str | None = None
    broker_name: str | None = None


class CheckTransactionStateRequestHeader(CommandHeader):
    """The header of CHECK_TRANSACTION_STATE (39), sent by the broker, oneway; the body is the half message, with its
    real topic.
    """

    tran_state_table_offset: Int64
    commit_log_offset: Int64
    msg_id: str | None = None
    transaction_id: str | None = None
    offset_msg_id: str | None = None
    broker_name: str | None = None


class ResumeCheckHalfMessageRequestHeader(CommandHeader):
    """The header of RESUME_CHECK_HALF_MESSAGE (323): ``msg_id`` is the offset id of a message that was discarded."""

    msg_id: str
