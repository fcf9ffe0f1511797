"""The result of a send (RocketMQ: ``SendStatus``, ``SendResult``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.response_code import STORED_CODES, ResponseCode

#: MixAll.DEFAULT_TRACE_REGION_ID
DEFAULT_REGION_ID = "DefaultRegion"


class SendStatus(StrEnum):
    """The status of a send. The broker has the message in all four cases; the last three report what it could not do in
    time.
    """

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"


#: Response codes that mean "stored". Any other code is an error.
STATUS_OF_CODE: dict[int, SendStatus] = {
    code: SendStatus.SEND_OK if code is ResponseCode.SUCCESS else SendStatus(code.name) for code in STORED_CODES
}


@dataclass(frozen=True, slots=True)
class SendResult:
    """The position of a sent message.

    :ivar message_id: the unique id that this client gave the message; of a batch all ids, joined by commas.
    :ivar offset_message_id: the id with the broker's address and the commit-log offset.
    :ivar queue_offset: its offset in the queue; for a batch, that of the first message.
    :ivar region_id: the broker's name for its region.
    :ivar trace_on: whether the broker wants messages to be traced.
    """

    status: SendStatus
    message_id: str
    offset_message_id: str
    message_queue: MessageQueue
    queue_offset: int
    transaction_id: str | None = None
    region_id: str = DEFAULT_REGION_ID
    trace_on: bool = True
