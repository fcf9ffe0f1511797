"""Errors of the broker while it serves a request."""

from __future__ import annotations

from engine.protocol.errors import ProtocolError
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus

#: The remarks that a sender receives when the store refuses (``SendMessageProcessor.handlePutMessageResult``).
REPLY_CODES = {
    PutMessageStatus.PUT_OK: ResponseCode.SUCCESS,
    PutMessageStatus.FLUSH_DISK_TIMEOUT: ResponseCode.FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE: ResponseCode.SLAVE_NOT_AVAILABLE,
    PutMessageStatus.SERVICE_NOT_AVAILABLE: ResponseCode.SERVICE_NOT_AVAILABLE,
    PutMessageStatus.CREATE_MAPEDFILE_FAILED: ResponseCode.SYSTEM_ERROR,
    PutMessageStatus.MESSAGE_ILLEGAL: ResponseCode.MESSAGE_ILLEGAL,
    PutMessageStatus.PROPERTIES_SIZE_EXCEEDED: ResponseCode.MESSAGE_ILLEGAL,
    PutMessageStatus.OS_PAGECACHE_BUSY: ResponseCode.SYSTEM_ERROR,
    PutMessageStatus.UNKNOWN_ERROR: ResponseCode.SYSTEM_ERROR,
}
assert len(REPLY_CODES) == len(PutMessageStatus)


class TooManyEntries(ProtocolError):
    """A table has reached its configured bound; the request that would have added to it is refused."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"too many {what}: this broker allows {limit}")
        self.limit = limit


class BrokerConfigRefused(ProtocolError):
    """An invalid topic or group configuration; the text names the field and what is allowed."""


class ConfigNotSaved(ProtocolError):
    """A topic or group could not be written to its file, so it was not changed."""


def check_stored(result: PutMessageResult) -> None:
    """Raise :class:`RequestRefused` if the store did not accept the message."""
    if result.status is not PutMessageStatus.PUT_OK:
        raise RequestRefused(result.remark, REPLY_CODES[result.status])
