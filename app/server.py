"""Everything that ``glassmq serve`` runs: the live engine first, then the page server over it.

The engine answers clients before Flask is imported: the first message can be sent while the page still starts.
"""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.live.live_host import LiveHost
from app.live.live_machines import LiveHostSettings, StartFailed
from app.observation.recent_log import RecentLog
from app.pipeline.connection import reachable, tls_options
from app.web.access_gate import AccessRules
from app.web.page_socket import AddressNotUsable, bind_page_socket
from engine.runtime.port import AddressInUse

if TYPE_CHECKING:
    from app.pipeline.host import PipelineSettings
    from app.web.page_listener import PageListener
    from app.web_application import PageServer


@dataclass(frozen=True, slots=True)
class PageSettings:
    """Where the page is served, and to whom."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    allowed_hosts: tuple[str, ...] = field(default=())
    #: Other sites whose pages may hold a stage of the lab.
    embedding_origins: tuple[str, ...] = field(default=())
    #: Where Spark runs when the page starts a job; None: the page starts none.
    spark_master: str | None = "local[2]"


class Server:
    """Name server, broker and page in this process. ``page`` None: no page."""

    def __init__(
        self, engine: LiveHostSettings, page: PageSettings | None, recent_log: RecentLog | None = None
    ) -> None:
        self.host = LiveHost(engine, recent_log)
        self._engine = engine
        self._data_folder = engine.data_folder
        self._page = page
        self._listener: PageListener | None = None
        self._page_server: PageServer | None = None
        self.page_address: str | None = None

    def start(self) -> None:
        """Start everything; all addresses answer when this returns. Raises StartFailed, and leaves nothing running."""
        listening = None if self._page is None else _listen(self._page)
        try:
            self.host.start()
            if self._page is not None and listening is not None:
                self._start_page(self._page, listening)
        except BaseException:
            if listening is not None:
                listening.close()
            self.stop()
            raise

    def _start_page(self, page: PageSettings, listening: socket.socket) -> None:
        from app.web.page_listener import PageListener
        from app.web_application import WebSettings, create_app

        port = listening.getsockname()[1]
        rules = AccessRules(page.host, port, page.token, page.allowed_hosts, page.embedding_origins)
        settings = WebSettings(
            access=rules,
            data_folder=self._data_folder,
            metrics=self.host.metrics,
            faults=self.host.faults,
            pipeline=self._pipeline_settings(page.spark_master),
        )
        self._page_server = create_app(self.host, settings)
        self._listener = PageListener(listening, self._page_server.app)
        self.page_address = self._listener.bound_address
        threading.Thread(target=self._listener.serve_forever, args=(0.2,), name="page-listener", daemon=True).start()
        self._page_server.stream.start()
        if self._page_server.pipeline_stream is not None:
            self._page_server.pipeline_stream.start()

    def _pipeline_settings(self, master: str | None) -> PipelineSettings | None:
        from app.pipeline.host import PipelineSettings

        if master is None:
            return None
        return PipelineSettings(
            folder=self._data_folder / "pipeline",
            name_server=reachable(self.host.name_server_address),
            master=master,
            connection_options=tls_options(self._engine.tls),
            asks_for_keys=self._engine.broker.acl_enable,
        )

    def stop(self) -> None:
        """Stop the page, then the engine gracefully. Does nothing for what was not started."""
        if self._page_server is not None:
            if self._page_server.pipeline_stream is not None:
                self._page_server.pipeline_stream.stop()
            if self._page_server.pipeline is not None:
                self._page_server.pipeline.close()
            self._page_server.stream.stop()
            self._page_server.lab.stop()
            self._page_server.explorations.close()
            self._page_server.storage_runs.close()
            self._page_server.storage.close()
            self._page_server.audits.close()
            self._page_server.progress.close()
        if self._listener is not None:
            self._listener.shutdown()
        self.host.stop()


def _listen(page: PageSettings) -> socket.socket:
    try:
        return bind_page_socket(page.host, page.port)
    except AddressInUse as error:
        raise StartFailed(f"the page cannot start: {error}; choose another port with --http-port") from error
    except AddressNotUsable as error:
        raise StartFailed(f"the page cannot start: {error}; see --http-host and --http-port") from error
