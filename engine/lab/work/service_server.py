"""A remote service of another party: it carries out each call immediately, and nothing rolls it back.

A call that takes something back does so if it was done; otherwise there is nothing to take back, and that is not an
error: the caller may not know (an *empty compensation*).

Its own store is not modelled: what it has done, it has done, whatever becomes of its process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.lab.work.reservations import ReservationEvent, reserve
from engine.lab.work.store_frames import StoreRequestCode, decode_body, encode_body
from engine.lab.work.work_spec import ServiceConfig
from engine.protocol.command.remoting_command import RemotingCommand
from engine.remoting.errors import RequestRefused
from engine.remoting.processor import answers
from engine.remoting.remoting_server import RemotingServer

if TYPE_CHECKING:
    from engine.runtime.port import Runtime


class ServiceServer:
    """A service's server.

    :param config: returns the present settings.
    :param calls: (operation, key) -> how often it is done, less what was taken back; the machine keeps it.
    :param on_done: called with operation, key, caller and the operation that was taken back by it, when something was
        done.
    """

    def __init__(
        self,
        runtime: Runtime,
        name: str,
        config: Callable[[], ServiceConfig],
        calls: dict[tuple[str, str], int],
        on_done: Callable[[str, str, str, str], None],
    ) -> None:
        self._config = config
        self._calls = calls
        self._on_done = on_done
        self._server = RemotingServer(runtime, f"service {name}")
        self._server.processors.register_methods(self)

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises ``AddressInUse``."""
        await self._server.start(host, port)

    async def shutdown(self) -> None:
        """Close all connections."""
        await self._server.shutdown()

    @answers(StoreRequestCode.SERVICE_CALL, RemotingCommand)
    def call(self, request: RemotingCommand) -> bytes:
        """Answer one call."""
        asked = decode_body(request.body)
        operation, key, undoes = str(asked["operation"]), str(asked["key"]), str(asked["undoes"])
        if asked.get("reserves"):
            return encode_body({"state": self._reserve(operation, key, str(asked["by"]))})
        done = (undoes or operation, key)
        times = self._calls.get(done, 0)
        if asked["changes"] and (times if undoes else not (times and self._config().service_is_idempotent)):
            times = self._calls[done] = times - 1 if undoes else times + 1
            self._on_done(operation, key, str(asked["by"]), undoes)
        return encode_body({"times": times})

    def _reserve(self, operation: str, key: str, by: str) -> str:
        config = self._config()
        try:
            event = ReservationEvent(operation)
        except ValueError:
            allowed = ", ".join(ReservationEvent)
            raise RequestRefused(f"{operation!r} is not allowed; allowed: {allowed}") from None
        keeps_states, most = config.keeps_reservation_states, config.reservations_max
        reserved = reserve(self._calls, event, key, keeps_states=keeps_states, most=most)
        if reserved.is_done:
            takes_back = event is ReservationEvent.CANCEL and reserved.ends_try
            self._on_done(operation, key, by, ReservationEvent.TRY.value if takes_back else "")
        return reserved.state.value
