"""How a send ended (RocketMQ: ``SendStatus``, ``SendResult``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.response_code import STORED_CODES, ResponseCode

#: MixAll.DEFAULT_TRACE_REGION_ID
DEFAULT_REGION_ID = "DefaultRegion"


class SendStatus(StrEnum):
    """In all four cases the broker has the message; the last three say what it could not do in time."""

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
    """Where the message went.

    :ivar message_id: the unique id that this client gave the message; of a batch all ids, joined by commas.
    :ivar offset_message_id: the id that says where in which commit log the message lies.
    :ivar queue_offset: its place in the queue; of a batch the first one's.
    :ivar region_id: what the broker calls the place where it stands.
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
