"""Delayed replies to sends, which wait for the disk, for slaves or for the name servers (RocketMQ:
``CommitLog.asyncPutMessage``, ``GroupCommitService``).
"""

from __future__ import annotations

import asyncio

from engine.broker.delivery.send_message_checks import SendParts
from engine.broker.foundation.broker_registration import BrokerRegistration
from engine.broker.foundation.errors import REPLY_CODES, ConfigNotSaved
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import FlushDiskType
from engine.store.log.put_message_result import PutMessageResult, PutMessageStatus

#: The remarks of replies; RocketMQ's reply names the status only.
_NOT_COPIED = {
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT: "slaves took too long",
    PutMessageStatus.SLAVE_NOT_AVAILABLE: "too few slaves are connected, or they lag too far",
}


class LateSendReply:
    """The replies that wait for durability.

    :ivar is_sync_flush: whether senders wait for the disk (``flushDiskType``).
    """

    def __init__(self, parts: SendParts, registration: BrokerRegistration) -> None:
        self._store = parts.store
        self._topic_table = parts.topics.table
        self._copies = parts.copies
        self._registration = registration
        self.is_sync_flush = parts.store.config.flush_disk_type is FlushDiskType.SYNC_FLUSH

    async def when_durable(
        self,
        reply: RemotingCommand,
        result: PutMessageResult,
        *,
        must_flush: bool,
        is_new_topic: bool,
        must_save: bool = False,
    ) -> RemotingCommand:
        """Wait until the message is durable, and return the reply.

        With SYNC_FLUSH the sender receives success only when the message would survive a power cut, with SYNC_MASTER
        only when it would survive the loss of the machine. Code 10 means that the message is stored but perhaps not
        durable: the reply's fields still contain its position. A new topic is saved first, or a crash would erase the
        queues without messages; and clients that learn of it from the sender find it at the name servers.
        ``must_save``: the topic may still be unsaved, and a restart could not restore it from its queues.
        """
        copying = self._replicate(result, must_flush=must_flush)
        why = await self._why_in_doubt(
            result, must_save=must_save or is_new_topic, must_flush=must_flush and self.is_sync_flush
        )
        if why:
            reply.code = ResponseCode.FLUSH_DISK_TIMEOUT
            reply.remark = f"the message is stored, but not known to be durable: {why}"
        status = PutMessageStatus.PUT_OK if copying is None else await copying
        if status is not PutMessageStatus.PUT_OK:
            reply.code = REPLY_CODES[status]
            reply.remark = "the message is stored, but not known to be copied: " + _NOT_COPIED[status]
        if is_new_topic:
            await self._registration.registered()
        return reply

    def _replicate(self, result: PutMessageResult, *, must_flush: bool) -> asyncio.Task[PutMessageStatus] | None:
        """Flush and replicate in parallel, as ``CommitLog.asyncPutMessage`` does."""
        if self._copies is None or not must_flush:
            return None
        return asyncio.create_task(self._copies.replicated(result.offset, result.end_offset), name="wait for slaves")

    async def _why_in_doubt(self, result: PutMessageResult, *, must_save: bool, must_flush: bool) -> str:
        """Return why it is unknown whether the message survives; empty if it does."""
        store, too_long = self._store, "the disk took too long"
        try:
            if must_save:
                async with asyncio.timeout(store.config.sync_flush_timeout_ms / 1_000):
                    await self._topic_table.saved()
        except ConfigNotSaved as failure:
            return str(failure)
        except TimeoutError:
            return too_long
        if must_flush and not await store.flushed(result.end_offset):
            return store.refusal or too_long
        return ""
