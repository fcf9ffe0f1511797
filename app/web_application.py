"""The page server: pages, translations, API and live stream in one Flask application."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask, Response, redirect, render_template
from flask.typing import ResponseReturnValue

from app.foundation.page_folders import PageFolders
from app.lab.routes.namespace import NAMESPACE as LAB_NAMESPACE
from app.lab.routes.namespace import LabNamespace
from app.lab.routes.routes import command_table
from app.lab.session.host import LabHost
from app.lab_application import LabApplication, LabSettings, add_lab_application
from app.live.client_routes import add_client_routes
from app.live.dead_letter_routes import add_dead_letter_routes
from app.live.fault_routes import add_fault_routes
from app.live.live_faults import LiveFaults
from app.live.operator_routes import add_operator_routes
from app.live.transaction_routes import add_transaction_routes
from app.live.verdict_routes import add_verdict_routes
from app.metrics.exposition import MetricFamily
from app.metrics.routes import create_metrics_route
from app.picture.pages.lab import FaultTables
from app.pipeline.host import PipelineHost, PipelineSettings
from app.pipeline.routes import add_pipeline_routes
from app.pipeline.views import NAMESPACE as PIPELINE_NAMESPACE
from app.pipeline.views import RunsSource, WithSparkOffsets
from app.storage.runs.works import WORKS
from app.web.access_gate import AccessGate
from app.web.access_rules import PageAccessRules
from app.web.api import create_api, json_answer
from app.web.compression import add_compression
from app.web.flask_application import add_page, create_flask
from app.web.live_source import LiveSource
from app.web.socket_namespace import LiveNamespace, SocketTransport, create_socketio, has_room
from app.web.socketio import SocketIO
from app.web.stream import LiveStream, StreamSource
from app.web.throttle import Throttle


@dataclass(frozen=True, slots=True)
class PageServer:
    """The result of :func:`create_app`: the WSGI application and the parts that its owner starts and stops."""

    app: Flask
    socketio: SocketIO
    stream: LiveStream
    lab: LabHost
    parts: LabApplication
    pipeline: PipelineHost | None
    pipeline_stream: LiveStream | None

    def start(self) -> None:
        """Start sending to viewers. Where a thread cannot be started, nothing is left running."""
        try:
            self.stream.start()
            if self.pipeline_stream is not None:
                self.pipeline_stream.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything that runs for the page."""
        if self.pipeline_stream is not None:
            self.pipeline_stream.stop()
        if self.pipeline is not None:
            self.pipeline.close()
        self.stream.stop()
        self.lab.stop()
        self.parts.close()


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Settings of the page server; :class:`app.web.access_rules.PageAccessRules` controls access.

    ``clock`` gives the throttle, ``lab_clock`` the lab monotonic seconds. Without ``lab_has_thread`` the lab runs only
    in calls of ``lab.serve_once()``, as in tests. ``data_folder`` keeps the progress of lessons; None: it is kept in
    memory. ``faults`` injects faults into the engine; None: that is not allowed. ``metrics`` returns what ``/metrics``
    shows; None: there is no such page. ``pipeline`` None: jobs cannot be started.
    """

    access: PageAccessRules = field(default_factory=PageAccessRules)
    folders: PageFolders = field(default_factory=PageFolders.find)
    clock: Callable[[], float] = time.monotonic
    lab_clock: Callable[[], float] = time.monotonic
    lab_has_thread: bool = True
    data_folder: Path | None = None
    metrics: Callable[[], list[MetricFamily]] | None = None
    faults: LiveFaults | None = None
    pipeline: PipelineSettings | None = None


def create_app(source: LiveSource, settings: WebSettings | None = None) -> PageServer:
    """Build the page server over ``source``. Nothing runs until the caller starts ``.stream`` and serves ``.app``."""
    settings = settings or WebSettings()
    app = create_flask(settings.folders, faults_allowed=settings.faults is not None)
    add_compression(app)
    app.before_request(Throttle(settings.clock).check)
    _add_pages(app, settings.faults is not None)
    api = create_api(source)
    add_transaction_routes(api, source)
    add_client_routes(api, source)
    add_dead_letter_routes(api, source)
    add_operator_routes(api, source)
    add_verdict_routes(api, source)
    add_fault_routes(api, settings.faults)
    pipeline = None if settings.pipeline is None else PipelineHost(settings.pipeline)
    add_pipeline_routes(api, pipeline)
    if settings.metrics is not None:
        app.register_blueprint(create_metrics_route(settings.metrics))

    socketio = create_socketio(app)
    shown: StreamSource = source if pipeline is None else WithSparkOffsets(source, pipeline.reached_offsets)
    stream = LiveStream(shown, SocketTransport(socketio))
    socketio.on_namespace(LiveNamespace(stream))
    pipeline_stream = None if pipeline is None else _stream_runs(socketio, pipeline)
    lab = LabHost(SocketTransport(socketio, LAB_NAMESPACE), settings.lab_clock, has_thread=settings.lab_has_thread)
    socketio.on_namespace(LabNamespace(lab))
    parts = add_lab_application(
        app,
        api,
        lab,
        settings.folders,
        LabSettings(settings.data_folder, pipeline, settings.access.embedders, settings.faults, storage_works=WORKS),
    )
    add_page(app, "pipeline")
    gate = AccessGate(app.wsgi_app, settings.access, lambda limit: has_room(socketio, limit))
    app.wsgi_app = gate  # type: ignore[method-assign]  # Flask's documented place for middleware
    return PageServer(app, socketio, stream, lab, parts, pipeline, pipeline_stream)


def _stream_runs(socketio: SocketIO, pipeline: PipelineHost) -> LiveStream:
    stream = LiveStream(RunsSource(pipeline), SocketTransport(socketio, PIPELINE_NAMESPACE))
    socketio.on_namespace(LiveNamespace(stream, PIPELINE_NAMESPACE))
    return stream


def _add_pages(app: Flask, faults_allowed: bool) -> None:
    @app.get("/live")
    def live() -> str:
        return render_template("live.html", fault_data=_fault_data() if faults_allowed else None)

    @app.get("/live/")
    def live_with_slash() -> ResponseReturnValue:
        return redirect("/live", 308)

    @app.get("/healthz")
    def healthz() -> Response:
        return json_answer({"status": "ok"})

    @app.get("/favicon.ico")
    def favicon() -> ResponseReturnValue:
        return redirect("/static/favicon.svg", 308)


def _fault_data() -> FaultTables:
    """Return the data for the live page's forms of faults."""
    from app.live.fault_service import LIVE_COMMANDS
    from engine.protocol.command.send_message_headers import LONG_NAMES

    return {"commands": command_table(LIVE_COMMANDS), "header_letters": {**LONG_NAMES}}
