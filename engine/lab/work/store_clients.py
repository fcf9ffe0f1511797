"""The application's side of the stores: the ports of :mod:`engine.idempotence` over the lab's network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from engine.idempotence.foundation.errors import StoreUnreachable, TransactionLost, UniqueViolation
from engine.idempotence.foundation.sql_port import SqlResult, SqlTransaction, SqlValue
from engine.lab.work.reservations import ReservationEvent, ReservationState
from engine.lab.work.store_frames import (
    StoreRefusalCode,
    StoreRequestCode,
    TransactionHeader,
    decode_body,
    encode_body,
)
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingError
from engine.remoting.remoting_client import RemotingClient

if TYPE_CHECKING:
    from engine.runtime.port import Runtime

#: How long an application waits for the answer of a store; longer than a transaction waits there for its turn.
STORE_TIMEOUT_MS = 5_000


class WrongStatement(Exception):
    """The database does not understand the statement: a bug of the application."""


_REFUSALS: dict[int, type[Exception]] = {
    StoreRefusalCode.UNIQUE_VIOLATION.value: UniqueViolation,
    StoreRefusalCode.TRANSACTION_LOST.value: TransactionLost,
    StoreRefusalCode.WRONG_STATEMENT.value: WrongStatement,
}


class StoreClient:
    """The connections of one application to all of its stores."""

    def __init__(self, runtime: Runtime, name: str) -> None:
        # A late answer of one store's session must not close the others on the same connection.
        self._client = RemotingClient(runtime, f"application {name}", close_on_timeout=False)

    async def call(self, address: str, request: RemotingCommand) -> Any:
        """Return the answer of a store. Raises ``StoreUnreachable``, ``UniqueViolation``, ``TransactionLost``."""
        try:
            reply = await self._client.call(address, request, STORE_TIMEOUT_MS)
        except RemotingError as error:
            raise StoreUnreachable(str(error)) from error
        if reply.code != ResponseCode.SUCCESS:
            raise _REFUSALS.get(reply.code, StoreUnreachable)(reply.remark or "")
        return decode_body(reply.body) if reply.body else None

    async def shutdown(self) -> None:
        """Close the connections."""
        await self._client.shutdown()


class LabTransaction:
    """A :class:`~engine.idempotence.foundation.sql_port.SqlTransaction`. ``number`` 0: each statement is one.

    :ivar is_open: the database has received it, and not its end.
    :ivar has_ended: it accepts no more statements.
    """

    def __init__(self, client: StoreClient, address: str, number: int) -> None:
        self._client = client
        self._address = address
        self._header = TransactionHeader(transaction=number)
        self.is_open = self.has_ended = False

    async def execute(self, statement: str, parameters: Mapping[str, SqlValue] | None = None) -> SqlResult:
        self._check_open()
        self.is_open = True
        body = encode_body({"sql": statement, "parameters": dict(parameters or {})})
        answer = await self._ask(StoreRequestCode.SQL_EXECUTE, body)
        return SqlResult(tuple(answer["rows"]), answer["changed"])

    async def commit(self) -> None:
        self._check_open()
        self.has_ended = True
        if self.is_open:
            self.is_open = False
            await self._ask(StoreRequestCode.SQL_COMMIT)

    async def roll_back(self) -> None:
        """Roll back if it is open. A database that does not answer will find out by itself."""
        self.has_ended = True
        if self.is_open:
            self.is_open = False
            with suppress(StoreUnreachable):
                await self._ask(StoreRequestCode.SQL_ROLLBACK)

    def _check_open(self) -> None:
        if self.has_ended:
            raise TransactionLost("the transaction has ended")

    async def _ask(self, code: StoreRequestCode, body: bytes = b"") -> Any:
        return await self._client.call(self._address, RemotingCommand.request(code, self._header, body))


class LabSqlDatabase(LabTransaction):
    """A :class:`~engine.idempotence.foundation.sql_port.SqlDatabase` on the node at ``address``."""

    dialect = "sqlite"

    def __init__(self, client: StoreClient, address: str) -> None:
        super().__init__(client, address, 0)
        self._count = 0

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[SqlTransaction]:
        self._count += 1
        transaction = LabTransaction(self._client, self._address, self._count)
        try:
            yield transaction
        except GeneratorExit:
            transaction.is_open = False  # the world is over: no process is left to send anything
            raise
        finally:
            await transaction.roll_back()

    async def close(self) -> None:
        """Do nothing: the client closes the connection."""


class LabRedis:
    """A :class:`~engine.idempotence.foundation.redis_port.RedisCommands` on the node at ``address``."""

    def __init__(self, client: StoreClient, address: str) -> None:
        self._client = client
        self._address = address

    async def execute_command(self, *words: Any) -> Any:
        request = RemotingCommand.request(StoreRequestCode.REDIS_COMMAND, body=encode_body(words))
        return await self._client.call(self._address, request)


class LabService:
    """A service on the node at ``address``."""

    def __init__(self, client: StoreClient, address: str, caller: str) -> None:
        self._client = client
        self._address = address
        self._caller = caller

    async def call(self, operation: str, key: str, undoes: str = "", *, changes: bool = True) -> int:
        """Call the service; return how often it is done now. Raises ``StoreUnreachable``: it is unknown whether it was
        done.

        :param undoes: the operation that this one takes back.
        :param changes: False: a question.
        """
        asked = {"operation": operation, "key": key, "by": self._caller, "undoes": undoes, "changes": changes}
        return int((await self._ask(asked))["times"])

    async def reserve(self, event: ReservationEvent, key: str) -> ReservationState:
        asked = {"operation": event.value, "key": key, "by": self._caller, "undoes": "", "reserves": True}
        return ReservationState((await self._ask(asked))["state"])

    async def _ask(self, asked: Mapping[str, object]) -> Any:
        request = RemotingCommand.request(StoreRequestCode.SERVICE_CALL, body=encode_body(asked))
        return await self._client.call(self._address, request)
