"""Banks without a broker: one lab node each, for tests of what they do with their own database."""

from __future__ import annotations

from engine.bank.accounts import Accounts
from engine.bank.bank_action import BankAction
from engine.bank.database import BankDatabase
from engine.bank.paying_bank import PayingBank, TransferVariant
from engine.bank.receiving_bank import ReceivingBank
from engine.bank.transfer import Transfer
from engine.client.callbacks.send_result import SendResult, SendStatus
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from engine.runtime.lab.lab_runtime import LabMachines

TRANSFER = Transfer("t-1", "A", "B", 100)


def accounts(world: LabMachines, node: str, account: str, opening: int) -> Accounts:
    """The bank's tables on that node's disk."""
    opened = Accounts(BankDatabase(world.node(node).disk, "bank.db"))
    opened.open_account(account, opening)
    return opened


def paying(
    world: LabMachines, opening: int = 250, way: TransferVariant = TransferVariant.TRANSACTION, duration_ms: int = 20
) -> tuple[PayingBank, list[BankAction]]:
    """ICBC, and what it has done."""
    actions: list[BankAction] = []
    bank = PayingBank(world.node("ICBC"), accounts(world, "ICBC", "A", opening), way, duration_ms, 5, actions.append)
    return bank, actions


def receiving(world: LabMachines) -> tuple[ReceivingBank, list[BankAction]]:
    """CCB, and what it has done."""
    actions: list[BankAction] = []
    return ReceivingBank(world.node("CCB"), accounts(world, "CCB", "B", 0), 20, actions.append), actions


def message(transfer: Transfer = TRANSFER, body: bytes | None = None) -> MessageExt:
    """As a consumer or a check-back gets it."""
    sent = transfer.message("Transfers")
    return MessageExt(
        topic="Transfers",
        body=sent.body if body is None else body,
        properties=dict(sent.properties),
        queue_id=0,
        queue_offset=0,
        commit_log_offset=0,
        born_timestamp=0,
        born_host="10.0.0.1:1",
        store_timestamp=0,
        store_host="10.0.0.2:10911",
    )


def acknowledged(status: SendStatus = SendStatus.SEND_OK) -> SendResult:
    """What a broker answers."""
    return SendResult(status, "id", "offset-id", MessageQueue("Transfers", "B1", 0), 0)
