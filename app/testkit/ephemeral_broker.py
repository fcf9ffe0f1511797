"""The broker of ``glassmq serve --ephemeral``: on free ports, in a temporary folder, with the test kit's HTTP API."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import to_builtins

from app.foundation.whole_file import write_whole
from app.testkit.api_application import ApiApplication
from app.testkit.api_server import ApiServer
from app.testkit.openapi import DOCUMENT_PATH, ROOT
from app.testkit.operations import TestSession
from app.testkit.replies import Addresses
from engine.live.engine_settings import BadSetting, read_assignments
from engine.live.live_machines import StartFailed
from engine.testkit import GlassMQ, TestKitError


class EphemeralBroker:
    """A broker of the test kit and its HTTP API, from ``start`` to ``stop``. Settings are texts ``NAME=VALUE``.

    Raises :class:`StartFailed`, also for unknown settings.
    """

    def __init__(
        self, host: str, ready_file: Path | None, broker_settings: Sequence[str], store_settings: Sequence[str]
    ) -> None:
        try:
            self._kit = GlassMQ(
                host=host,
                broker_settings=read_assignments(broker_settings, "--broker-setting"),
                store_settings=read_assignments(store_settings, "--store-setting"),
            )
        except (BadSetting, TestKitError) as error:
            raise StartFailed(str(error)) from error
        self._host = host
        self._ready_file = ready_file
        self._is_announced = False
        self._server: ApiServer | None = None
        self.addresses: Addresses

    def start(self) -> None:
        """Start everything; then write the ready file. One that a killed process left is removed first."""
        try:
            if self._ready_file is not None:
                self._ready_file.unlink(missing_ok=True)
            self._kit.start()
            self._server = ApiServer(self._host)
            self.addresses = self._found_addresses(self._server.port)
            self._server.start(ApiApplication(TestSession(self._kit, self.addresses)))
            if self._ready_file is not None:
                write_whole(self._ready_file, f"{json.dumps(to_builtins(self.addresses), indent=2)}\n".encode())
                self._is_announced = True
        except (TestKitError, OSError) as error:
            self.stop()
            raise StartFailed(f"the test kit cannot start: {error}") from error

    @property
    def is_running(self) -> bool:
        """Return True between ``start`` and ``stop``."""
        return self._kit.is_running

    def lines(self) -> list[str]:
        """Return what a user needs to know, line by line."""
        return [
            f"  name server  {self.addresses.name_server_address}",
            f"  broker       {self.addresses.broker_address}",
            f"  test kit     {self.addresses.api}{DOCUMENT_PATH}",
        ]

    def _found_addresses(self, http_port: int) -> Addresses:
        name_server, broker = self._kit.name_server_address, self._kit.broker_address
        host = f"[{self._host}]" if ":" in self._host else self._host
        return Addresses(
            pid=os.getpid(),
            host=self._host,
            name_server_address=name_server,
            broker_address=broker,
            name_server_port=int(name_server.rpartition(":")[2]),
            broker_port=int(broker.rpartition(":")[2]),
            http_port=http_port,
            api=f"http://{host}:{http_port}{ROOT}",
        )

    def stop(self) -> None:
        """End everything, and remove the files."""
        if self._ready_file is not None and self._is_announced:
            self._ready_file.unlink(missing_ok=True)
        if self._server is not None:
            self._server.stop()
        self._kit.stop()
