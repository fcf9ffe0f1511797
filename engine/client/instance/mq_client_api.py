"""The requests of any client, and the reporting of their failures (RocketMQ: ``MQClientAPIImpl``).

The requests of producers and of consumers are in ``send_message_api`` and ``consumer_api``; all go through
:meth:`MQClientApi.request`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from engine.client.foundation.errors import MQBrokerError, NameServerUnreachable, OffsetNotFound, RequestFailed
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.body.question import AdminQuestion, topic_route
from engine.protocol.body.topic_route_data import TopicRouteData
from engine.protocol.command.command_header import CommandHeader
from engine.protocol.command.headers import CreateTopicRequestHeader, UnregisterClientRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.errors import ProtocolError
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC
from engine.protocol.permission import PERM_READ_WRITE
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.remoting.remoting_client import RemotingClient

_T = TypeVar("_T")


def read_reply(read: Callable[[], _T], what: str) -> _T:
    """Return ``read()``; an error in the bytes of a reply becomes :class:`RequestFailed`."""
    try:
        return read()
    except ProtocolError as error:
        raise RequestFailed(
            f"the reply to the request to {what} cannot be read: {error}", outcome_is_known=False
        ) from error


class MQClientApi:
    """A sender of requests that turns refusals and timeouts into
    :class:`~engine.client.foundation.errors.MQClientError`.

    :param name_server_addresses: the first one that answers is kept until it fails.
    :param timeout_ms: the default timeout of a request.
    """

    def __init__(self, remoting_client: RemotingClient, name_server_addresses: Sequence[str], timeout_ms: int) -> None:
        self.remoting_client = remoting_client
        self.name_server_addresses = tuple(name_server_addresses)
        self.timeout_ms = timeout_ms
        self._name_server_index = 0

    # --- the two ways to send --------------------------------------------------------------------------------------

    async def exchange(
        self, address: str, command: RemotingCommand, what: str, timeout_ms: int | None = None
    ) -> RemotingCommand:
        """Send ``command`` to ``address`` and return the reply whatever its code. ``what`` describes the request in
        errors.

        Raises :class:`RequestFailed` if there is no reply.
        """
        try:
            return await self.remoting_client.call(
                address, command, self.timeout_ms if timeout_ms is None else timeout_ms
            )
        except RemotingError as error:
            raise RequestFailed(f"cannot {what}: {error}", outcome_is_known=error.outcome_known) from error

    async def request(
        self,
        address: str,
        code: RequestCode,
        header: CommandHeader | None,
        what: str,
        *,
        body: bytes = b"",
        timeout_ms: int | None = None,
    ) -> RemotingCommand:
        """Send a request as ``exchange`` does, but raise :class:`MQBrokerError` for any code but SUCCESS."""
        return await self._accepted(address, RemotingCommand.request(code, header, body), what, timeout_ms)

    async def _accepted(
        self, address: str, command: RemotingCommand, what: str, timeout_ms: int | None = None
    ) -> RemotingCommand:
        reply = await self.exchange(address, command, what, timeout_ms)
        if reply.code != ResponseCode.SUCCESS:
            kind = OffsetNotFound if reply.code == ResponseCode.QUERY_NOT_FOUND else MQBrokerError
            raise kind(reply.code, reply.remark, address, what)
        return reply

    async def ask(self, address: str, question: AdminQuestion[_T], what: str | None = None) -> _T:
        """Send a question and return its decoded reply; refusals and timeouts raise as in :meth:`request`."""
        what = what or question.what
        reply = await self._accepted(address, question.request(), what)
        return read_reply(partial(question.read, reply), what)

    async def send_oneway(self, address: str, command: RemotingCommand, what: str) -> None:
        """Send ``command`` without waiting. Raises :class:`RequestFailed` if no connection can be made."""
        try:
            await self.remoting_client.send_oneway(address, command)
        except RemotingError as error:
            raise RequestFailed(f"cannot {what}: {error}", outcome_is_known=error.outcome_known) from error

    # --- name servers ----------------------------------------------------------------------------------------------

    async def topic_route(self, topic: str) -> TopicRouteData:
        """Return the route of ``topic``.

        Raises :class:`MQBrokerError` with code TOPIC_NOT_EXIST when the name server does not know it, and
        :class:`NameServerUnreachable` when none answers.
        """
        failures = []
        question = topic_route(topic)
        count = len(self.name_server_addresses)
        for attempt in range(count):
            address = self.name_server_addresses[(self._name_server_index + attempt) % count]
            try:
                reply = await self._accepted(address, question.request(), question.what)
            except RequestFailed as error:
                failures.append(str(error))
                continue
            self._name_server_index = (self._name_server_index + attempt) % count
            return read_reply(partial(question.read, reply), question.what)
        raise NameServerUnreachable(
            f"none of the name servers {', '.join(self.name_server_addresses)} answers: {'; '.join(failures)}"
        )

    # --- reports to brokers ----------------------------------------------------------------------------------------

    async def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> int:
        """Send a heartbeat with this client's groups to a broker and return the broker's version."""
        reply = await self.request(address, RequestCode.HEART_BEAT, None, "take a heartbeat", body=heartbeat.to_json())
        return reply.version

    async def unregister_client(
        self, address: str, client_id: str, producer_group: str | None, consumer_group: str | None
    ) -> None:
        """Leave a group, so that its other members need not wait for the heartbeat to expire."""
        header = UnregisterClientRequestHeader(client_id, producer_group, consumer_group)
        await self.request(address, RequestCode.UNREGISTER_CLIENT, header, f"unregister client {client_id}")

    async def create_topic(self, address: str, topic: str, queue_nums: int, perm: int = PERM_READ_WRITE) -> None:
        """Create or change ``topic`` on one broker; it registers with the name servers by itself."""
        header = CreateTopicRequestHeader(
            topic=topic,
            default_topic=AUTO_CREATE_TOPIC_KEY_TOPIC,
            read_queue_nums=queue_nums,
            write_queue_nums=queue_nums,
            perm=perm,
            topic_filter_type="SINGLE_TAG",
            topic_sys_flag=0,
            order=False,
        )
        await self.request(address, RequestCode.UPDATE_AND_CREATE_TOPIC, header, f"create topic {topic!r}")
