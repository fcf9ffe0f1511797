"""Manual decisions about half messages (RocketMQ: ``DefaultMQAdminExt.resumeCheckHalfMessage``; it has no tool that
commits).

It uses the broker as a tool does: END_TRANSACTION (37) and RESUME_CHECK_HALF_MESSAGE (323) go to the processors that
answer them on the wire. END_TRANSACTION must name the message's own group, so the processor's check of it passes.
"""

from __future__ import annotations

import logging

from engine.broker.foundation.store_lookups import dispatcher_done
from engine.broker.transactions.half_message import producer_group
from engine.broker.transactions.half_message_lookup import (
    HalfMessageAction,
    HalfMessageLookup,
    HalfMessageRefusal,
    HalfMessageRefused,
    StoredHalfMessages,
)
from engine.protocol.command.headers import EndTransactionRequestHeader, ResumeCheckHalfMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import MessageExt
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_ROLLBACK_TYPE
from engine.remoting.remoting_server import RemotingServer
from engine.store.message_store import MessageStore

logger = logging.getLogger("glassmq.broker")

_DECISIONS = {HalfMessageAction.COMMIT: TRANSACTION_COMMIT_TYPE, HalfMessageAction.ROLLBACK: TRANSACTION_ROLLBACK_TYPE}
_DONE = {
    HalfMessageAction.COMMIT: "committed",
    HalfMessageAction.ROLLBACK: "rolled back",
    HalfMessageAction.RESUME: "taken up again",
}


class HalfMessageAdministrator:
    """An administrator of one running broker, in its thread.

    Messages are named as in :mod:`engine.broker.transactions.half_message_lookup`.

    Each action first checks whether the message was decided meanwhile, which RocketMQ's broker does not do. ``anyway``
    skips that check for commit and rollback, to show what happens then.
    """

    def __init__(self, store: MessageStore, server: RemotingServer) -> None:
        self._store = store
        self._server = server
        self._lookup = HalfMessageLookup(StoredHalfMessages(store))

    def check(self, action: HalfMessageAction, name: str, *, anyway: bool = False) -> MessageExt:
        """Return the message that :meth:`act` would act on. Raises :class:`HalfMessageRefused`."""
        return self._lookup.message_for(action, name, anyway=anyway)

    async def act(self, action: HalfMessageAction, name: str, *, anyway: bool = False) -> MessageExt:
        """Carry out an action and return the message as it was before.

        Raises :class:`HalfMessageRefused` without any effect.
        """
        await dispatcher_done(self._store)  # an op message that was just put is not visible yet
        message = self.check(action, name, anyway=anyway)
        request = request_for(action, message)
        reply = await self._server.ask_unguarded(request, "the administrator")
        if reply.code != ResponseCode.SUCCESS:
            raise HalfMessageRefused(HalfMessageRefusal.BY_BROKER, remark=reply.remark or f"code {reply.code}")
        group = producer_group(message)
        logger.warning("half message %s of group %s was %s by hand", message.message_id, group, _DONE[action])
        return message


def request_for(action: HalfMessageAction, message: MessageExt) -> RemotingCommand:
    """Return the request that a tool sends to the broker with ``message``; it may be sent as a request with a reply."""
    if action is HalfMessageAction.RESUME:
        header = ResumeCheckHalfMessageRequestHeader(message.offset_message_id)
        return RemotingCommand.request(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)
    end = EndTransactionRequestHeader(
        producer_group(message),
        message.queue_offset,
        message.commit_log_offset,
        _DECISIONS[action],
        msg_id=message.message_id,
    )
    return RemotingCommand.request(RequestCode.END_TRANSACTION, end)
