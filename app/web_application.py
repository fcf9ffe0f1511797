"""The page server: pages, translations, API and live stream in one Flask application."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from flask import Flask, Response, g, redirect, render_template, request
from flask.typing import ResponseReturnValue
from flask_socketio import SocketIO
from werkzeug.exceptions import HTTPException

from app.articles.routes import create_article_pages
from app.foundation.json_types import JsonObject
from app.foundation.live_source import LiveSource
from app.foundation.translator import choose_language, texts, translate
from app.glossary.routes import create_glossary_page
from app.lab.routes.audits import LabAudits
from app.lab.routes.exploration_routes import create_exploration_routes
from app.lab.routes.explorations import Explorations
from app.lab.routes.namespace import NAMESPACE as LAB_NAMESPACE
from app.lab.routes.namespace import LabNamespace
from app.lab.routes.routes import command_table, create_lab_routes
from app.lab.routes.scenario_list import scenario_shelves
from app.lab.session.host import LabHost
from app.lessons.progress import FILE_NAME as LESSONS_FILE
from app.lessons.progress import LearnerProgress
from app.lessons.routes import create_lesson_routes
from app.live.client_routes import add_client_routes
from app.live.dead_letter_routes import add_dead_letter_routes
from app.live.fault_routes import add_fault_routes
from app.live.filter_bench import add_filter_routes, create_filter_page
from app.live.live_faults import LiveFaults
from app.live.operator_routes import add_operator_routes
from app.live.transaction_routes import add_transaction_routes
from app.live.verdict_routes import add_verdict_routes
from app.metrics.exposition import MetricFamily
from app.metrics.routes import create_metrics_route
from app.pipeline.host import PipelineHost, PipelineSettings
from app.pipeline.routes import add_pipeline_routes, create_pipeline_page
from app.pipeline.views import NAMESPACE as PIPELINE_NAMESPACE
from app.pipeline.views import RunsSource, WithSparkOffsets
from app.start_page import create_start_page
from app.storage.laboratory.laboratory import Laboratory
from app.storage.routes import add_storage_routes, create_storage_page
from app.storage.run_routes import add_run_routes
from app.storage.runs.host import StorageRuns
from app.web.access_gate import AccessGate
from app.web.access_rules import PageAccessRules
from app.web.api import create_api, http_error_answer, json_answer
from app.web.api_parameters import BadParameter
from app.web.framing import frame_options, framing_policy
from app.web.socket_namespace import LiveNamespace, SocketTransport, create_socketio, has_room
from app.web.stream import LiveStream, StreamSource
from app.web.throttle import REQUESTS_PER_SECOND, Throttle
from engine.texts import LANGUAGES

log = logging.getLogger("glassmq.http")

LANGUAGE_COOKIE = "glassmq_language"
_YEAR_S = 365 * 24 * 3600


@dataclass(frozen=True, slots=True)
class PageFolders:
    """The folders of templates and static files: next to ``app/`` in a source tree, inside it in a wheel."""

    templates: Path
    static: Path

    @classmethod
    def find(cls) -> PageFolders:
        """Return the folders of this installation."""
        package = Path(__file__).resolve().parent
        bundled = package / "bundled"
        root = bundled if bundled.is_dir() else package.parent
        return cls(templates=root / "templates", static=root / "static")


@dataclass(frozen=True, slots=True)
class PageServer:
    """The result of :func:`create_app`: the WSGI application and the parts that its owner starts and stops."""

    app: Flask
    socketio: SocketIO
    stream: LiveStream
    lab: LabHost
    explorations: Explorations
    audits: LabAudits
    progress: LearnerProgress
    pipeline: PipelineHost | None
    pipeline_stream: LiveStream | None
    storage: Laboratory
    storage_runs: StorageRuns

    def start(self) -> None:
        """Start sending to viewers."""
        self.stream.start()
        if self.pipeline_stream is not None:
            self.pipeline_stream.start()

    def stop(self) -> None:
        """Stop everything that runs for the page."""
        if self.pipeline_stream is not None:
            self.pipeline_stream.stop()
        if self.pipeline is not None:
            self.pipeline.close()
        self.stream.stop()
        self.lab.stop()
        self.explorations.close()
        self.storage_runs.close()
        self.storage.close()
        self.audits.close()
        self.progress.close()


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
    app = Flask(
        "glassmq",
        template_folder=str(settings.folders.templates),
        static_folder=str(settings.folders.static),
        static_url_path="/static",
    )
    # Flask signs its session cookie with this; the page keeps no session, so a key per start is enough.
    app.config.update(
        SECRET_KEY=secrets.token_bytes(32),
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        MAX_CONTENT_LENGTH=64 * 1024,
    )
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    _add_language(app, settings.faults is not None)
    app.before_request(Throttle(settings.clock).check)
    _add_pages(app, settings.faults is not None)
    _add_error_pages(app)
    api = create_api(source)
    add_transaction_routes(api, source)
    add_client_routes(api, source)
    add_dead_letter_routes(api, source)
    add_operator_routes(api, source)
    add_verdict_routes(api, source)
    add_fault_routes(api, settings.faults)
    add_filter_routes(api)
    pipeline = None if settings.pipeline is None else PipelineHost(settings.pipeline)
    add_pipeline_routes(api, pipeline)
    storage = Laboratory()
    storage_runs = StorageRuns()
    add_run_routes(api, storage_runs)
    add_storage_routes(api, storage, lambda: scenario_shelves(settings.folders.static)["storage"])
    app.register_blueprint(api)
    if settings.metrics is not None:
        app.register_blueprint(create_metrics_route(settings.metrics))
    app.after_request(_add_security_headers)

    socketio = create_socketio(app)
    shown: StreamSource = source if pipeline is None else WithSparkOffsets(source, pipeline.reached_offsets)
    stream = LiveStream(shown, SocketTransport(socketio))
    socketio.on_namespace(LiveNamespace(stream))
    pipeline_stream = None if pipeline is None else _stream_runs(socketio, pipeline)
    lab = LabHost(SocketTransport(socketio, LAB_NAMESPACE), settings.lab_clock, has_thread=settings.lab_has_thread)
    socketio.on_namespace(LabNamespace(lab))
    audits = LabAudits(pipeline)
    app.register_blueprint(
        create_lab_routes(lab, settings.folders.static, audits, settings.access.embedders, settings.faults)
    )
    explorations = Explorations()
    app.register_blueprint(create_exploration_routes(lab, explorations))
    app.register_blueprint(create_start_page(lab))
    app.register_blueprint(create_filter_page())
    app.register_blueprint(create_pipeline_page())
    app.register_blueprint(create_storage_page())
    progress = LearnerProgress(None if settings.data_folder is None else settings.data_folder / LESSONS_FILE)
    app.register_blueprint(create_lesson_routes(lab, progress))
    app.register_blueprint(create_article_pages())
    app.register_blueprint(create_glossary_page())
    gate = AccessGate(app.wsgi_app, settings.access, lambda limit: has_room(socketio, limit))
    app.wsgi_app = gate  # type: ignore[method-assign]  # Flask's documented place for middleware
    return PageServer(
        app, socketio, stream, lab, explorations, audits, progress, pipeline, pipeline_stream, storage, storage_runs
    )


def _stream_runs(socketio: SocketIO, pipeline: PipelineHost) -> LiveStream:
    stream = LiveStream(RunsSource(pipeline), SocketTransport(socketio, PIPELINE_NAMESPACE))
    socketio.on_namespace(LiveNamespace(stream, PIPELINE_NAMESPACE))
    return stream


def _add_language(app: Flask, faults_allowed: bool) -> None:
    @app.before_request
    def choose() -> None:
        g.csp_nonce = secrets.token_urlsafe(16)
        wanted, remembered = request.args.get("lang"), request.cookies.get(LANGUAGE_COOKIE)
        g.language = choose_language(wanted, remembered, request.accept_languages)

    @app.context_processor
    def template_values() -> dict[str, object]:
        return {
            "lang": g.language,
            "languages": LANGUAGES,
            "csp_nonce": g.csp_nonce,
            "t": lambda key, **values: translate(g.language, key, **values),
            "page_data": {"language": g.language, "translations": texts(g.language)},
            "import_map": _import_map(str(app.static_folder)),
            "faults_allowed": faults_allowed,
        }

    @app.after_request
    def remember(response: Response) -> Response:
        if request.args.get("lang") in LANGUAGES:
            response.set_cookie(
                LANGUAGE_COOKIE,
                g.language,
                max_age=_YEAR_S,
                httponly=True,
                samesite="Lax",
                secure=request.is_secure,
            )
        return response


@cache
def _import_map(static_folder: str) -> object:
    """Return module name in the page's scripts -> its file; written by the set-up command."""
    path = Path(static_folder) / "vendor" / "import-map.json"
    if not path.exists():
        log.warning("the page's packages are missing (%s): run make install", path)
        return {"imports": {}}
    return json.loads(path.read_text(encoding="utf-8"))


def _add_pages(app: Flask, faults_allowed: bool) -> None:
    @app.get("/live")
    def live() -> str:
        return render_template("live.html", fault_data=_fault_data() if faults_allowed else None)

    @app.get("/live/")
    def live_with_slash() -> ResponseReturnValue:
        return redirect("/live", 308)

    @app.get("/translations/<language>.json")
    def translations(language: str) -> Response:
        if language not in LANGUAGES:
            return json_answer({"error": f"no such language; allowed: {', '.join(LANGUAGES)}"}, 404)
        return json_answer(texts(language))

    @app.get("/healthz")
    def healthz() -> Response:
        return json_answer({"status": "ok"})

    @app.get("/favicon.ico")
    def favicon() -> ResponseReturnValue:
        return redirect("/static/favicon.svg", 308)


def _fault_data() -> JsonObject:
    """Return the data for the live page's forms of faults."""
    from app.live.fault_service import LIVE_COMMANDS
    from engine.protocol.command.send_message_headers import LONG_NAMES

    return {"commands": command_table(LIVE_COMMANDS), "header_letters": {**LONG_NAMES}}


def _add_error_pages(app: Flask) -> None:
    @app.errorhandler(BadParameter)
    def bad_parameter(error: BadParameter) -> Response:
        return json_answer(error.as_json(), 400)

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> ResponseReturnValue:
        if request.path.startswith("/api/"):
            return http_error_answer(error)
        if isinstance(error.response, Response) or error.code in (301, 302, 307, 308):
            return error.get_response()
        key = {404: "error.not_found", 429: "error.too_often"}.get(error.code or 500, "error.other")
        text = translate(g.get("language", "en"), key, code=error.code, path=request.path, limit=REQUESTS_PER_SECOND)
        # A browser accepts HTML; for a program that accepts anything, one line is easier to read than a page.
        if request.accept_mimetypes.best_match(["text/plain", "text/html"]) == "text/html" and "language" in g:
            return Response(render_template("error.html", code=error.code, text=text), status=error.code)
        return Response(text + "\n", status=error.code, mimetype="text/plain")


def _add_security_headers(response: Response) -> Response:
    """Add headers so that scripts and styles come from this server only, and other sites may neither read nor frame the
    page, except as :mod:`app.web.framing` allows.
    """
    nonce = g.get("csp_nonce", "")
    response.headers.setdefault(
        "Content-Security-Policy",
        "default-src 'none'; "
        f"script-src 'self' 'nonce-{nonce}'; "
        "style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; " + framing_policy(),
    )
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    if options := frame_options():
        response.headers.setdefault("X-Frame-Options", options)
    response.headers.setdefault("Referrer-Policy", "no-referrer")
    response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    return response
