"""The processes of ``glassmq serve``: the live engine and its page server.

The page's port listens from the start on; the HTTP server is imported with the first connection, and the page with the
first request: until then werkzeug, Flask and the lab take neither time nor memory.
"""

from __future__ import annotations

import gc
import importlib.util
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.live.live_host import LiveHost
from app.observation.recent_log import RecentLog
from app.pipeline.connection import reachable, tls_options
from app.web.access_rules import PageAccessRules
from app.web.lazy_listener import LazyListener
from app.web.page_socket import AddressNotUsable, address_of, bind_page_socket
from engine.live.live_machines import LiveHostSettings, StartFailed
from engine.runtime.port import AddressInUse

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from app.pipeline.host import PipelineSettings
    from app.web_application import PageServer


log = logging.getLogger("glassmq.http")


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The address of the page server, and the clients that it accepts."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    allowed_hosts: tuple[str, ...] = field(default=())
    #: Other sites whose pages may embed a stage of the lab.
    embedding_origins: tuple[str, ...] = field(default=())
    #: Where Spark runs when the page starts a job; None: the page starts no jobs.
    spark_master: str | None = "local[2]"


#: The packages of the extra `page`; the page imports them with its first request.
PAGE_PACKAGES = (
    "flask",
    "flask_socketio",
    "engineio",
    "socketio",
    "simple_websocket",
    "sqlite_utils",
    "werkzeug",
    "wsproto",
)


def _check_page_packages() -> None:
    missing = next((name for name in PAGE_PACKAGES if importlib.util.find_spec(name) is None), None)
    if missing is not None:
        raise StartFailed(
            f"the page needs the Python package {missing}: pip install 'glassmq[page]', or serve without it: --no-page"
        )


class PageOnDemand:
    """A WSGI application that is created by the first request; concurrent requests wait."""

    def __init__(self, make: Callable[[], PageServer]) -> None:
        """Note ``make``, which starts what it makes."""
        self._make = make
        self._lock = threading.Lock()
        self._is_closed = False
        self._made: PageServer | None = None

    def get(self) -> PageServer | None:
        """Return the page's parts, created if need be; None once it is closed."""
        with self._lock:
            if self._made is None and not self._is_closed:
                try:
                    self._made = self._make()
                except Exception:
                    log.exception("the page cannot be rendered")
                    raise
            return self._made

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        page = self.get()
        if page is None:
            start_response("503 Service Unavailable", [("Content-Type", "text/plain")])
            return [b"the server stops\n"]
        return page.app(environ, start_response)

    def close(self) -> None:
        """Stop all parts of the server, and create no more."""
        with self._lock:
            self._is_closed = True
            page, self._made = self._made, None
        if page is not None:
            page.stop()


class Server:
    """Name server, broker and page in this process. ``page`` None: no page."""

    def __init__(
        self, engine: LiveHostSettings, page: PageSettings | None, recent_log: RecentLog | None = None
    ) -> None:
        self.host = LiveHost(engine, recent_log)
        self.settings = engine
        self._data_folder = engine.data_folder
        self._page = page
        self._listener: LazyListener | None = None
        self.page: PageOnDemand | None = None
        self.page_address: str | None = None

    @property
    def is_running(self) -> bool:
        """Return whether the engine runs."""
        return self.host.is_running

    def start(self) -> None:
        """Start everything; all addresses answer when this returns. Raises StartFailed, and leaves nothing running."""
        if self._page is not None:
            _check_page_packages()
        listening = None if self._page is None else _listen(self._page)
        if listening is not None:
            self._report_page(address_of(listening))
        try:
            self.host.start()
            if self._page is not None and listening is not None:
                self._start_page(self._page, listening)
        except BaseException:
            if listening is not None:
                listening.close()
            self.stop()
            raise

    def _report_page(self, address: str) -> None:
        """Let the broker report where its page is; a page at all addresses of the machine has none to report."""
        broker = self.settings.broker
        if not broker.page_address and not address.startswith(("0.0.0.0:", "[::]:")):
            broker.page_address = f"http://{address}"

    def _start_page(self, page: PageSettings, listening: socket.socket) -> None:
        port = listening.getsockname()[1]
        rules = PageAccessRules(page.host, port, page.token, page.allowed_hosts, page.embedding_origins)
        self.page = PageOnDemand(lambda: self._make_page(rules, page.spark_master))
        self._listener = LazyListener(listening, self.page)
        self.page_address = self._listener.address

    def _make_page(self, rules: PageAccessRules, spark_master: str | None) -> PageServer:
        from app.web_application import WebSettings, create_app

        settings = WebSettings(
            access=rules,
            data_folder=self._data_folder,
            metrics=self.host.metrics,
            faults=self.host.faults,
            pipeline=self._pipeline_settings(spark_master),
        )
        page = create_app(self.host, settings)
        page.start()
        # Its modules stay forever: a garbage collection, which stops the engine too, should not examine them.
        gc.collect()
        gc.freeze()
        return page

    def _pipeline_settings(self, master: str | None) -> PipelineSettings | None:
        from app.pipeline.host import PipelineSettings

        if master is None:
            return None
        return PipelineSettings(
            folder=self._data_folder / "pipeline",
            name_server=reachable(self.host.name_server_address),
            master=master,
            connection_options=tls_options(self.settings.tls),
            asks_for_keys=self.settings.broker.acl_enable,
        )

    def stop(self) -> None:
        """Stop the page, then the engine gracefully. Parts that were not started are skipped."""
        if self.page is not None:
            self.page.close()
        if self._listener is not None:
            self._listener.close()
        self.host.stop()


def _listen(page: PageSettings) -> socket.socket:
    try:
        return bind_page_socket(page.host, page.port)
    except AddressInUse as error:
        raise StartFailed(f"the page cannot start: {error}; choose another port with --http-port") from error
    except AddressNotUsable as error:
        raise StartFailed(f"the page cannot start: {error}; see --http-host and --http-port") from error
