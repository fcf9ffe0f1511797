"""The Flask application that every page is in: languages, templates, errors, and headers that protect the browser."""

from __future__ import annotations

import json
import logging
import secrets
from functools import cache, partial
from pathlib import Path
from typing import cast

from flask import Flask, Response, g, render_template, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from app.foundation.page_folders import PageFolders
from app.foundation.translator import choose_language, in_all_languages, texts, translate
from app.picture.refusal import refusal_json
from app.web.api import json_answer, refusal_answer
from app.web.framing import frame_options, framing_policy
from app.web.page_modules import PageModules, page_modules
from app.web.static_files import VersionedFiles
from app.web.throttle import REQUESTS_PER_SECOND
from engine.fields.refusal import FieldRefused, shown
from engine.texts import LANGUAGES, Text

log = logging.getLogger("glassmq.http")

LANGUAGE_COOKIE = "glassmq_language"
#: What a browser never shows as a page needs none of the headers of one: a page has 150 scripts.
_NO_DOCUMENTS = frozenset({"text/javascript", "text/css", "image/webp"})
_YEAR_S = 365 * 24 * 3600


def create_flask(
    folders: PageFolders, *, faults_allowed: bool = False, absent: tuple[str, ...] = (), has_versions: bool = True
) -> Flask:
    """Return the application without any page. ``absent``: addresses of pages that the navigation leaves out.

    Without ``has_versions`` pages load static files from ``/static``: the addresses stay when the files change.
    """
    app = Flask(
        "glassmq",
        template_folder=str(folders.templates),
        static_folder=str(folders.static),
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
    files = VersionedFiles(app, folders.static) if has_versions else None
    modules = PageModules(app)
    for language in LANGUAGES:
        modules.add_import("texts", partial(texts, language), language)
    _add_language(app, files, faults_allowed, absent)
    _add_error_pages(app)
    app.after_request(_add_security_headers)
    app.after_request(_remove_date)
    return app


def add_page(app: Flask, name: str) -> None:
    """Let ``app`` answer ``/NAME`` with the template of that name."""
    app.add_url_rule(f"/{name}", name, lambda: render_template(f"{name}.html"))


def _add_language(app: Flask, files: VersionedFiles | None, faults_allowed: bool, absent: tuple[str, ...]) -> None:
    @app.before_request
    def choose() -> None:
        g.csp_nonce = secrets.token_urlsafe(16)
        wanted, remembered = request.args.get("lang"), request.cookies.get(LANGUAGE_COOKIE)
        g.language = choose_language(wanted, remembered, request.accept_languages)

    @app.context_processor
    def template_values() -> dict[str, object]:
        static = "/static" if files is None or g.get("stands_alone") else files.address()
        return {
            "lang": g.language,
            "languages": LANGUAGES,
            "csp_nonce": g.csp_nonce,
            "t": lambda key, **values: translate(g.language, key, **values),
            "static": static,
            "module_address": page_modules().address,
            "page_data": {"language": g.language},
            "import_map": _import_map(Path(str(app.static_folder)), static),
            "faults_allowed": faults_allowed,
            "absent_pages": absent,
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


def _import_map(static_folder: Path, static: str) -> dict[str, dict[str, str]]:
    """Return module name in the page's scripts -> its file; ``static``: where the static files are."""
    imports = {
        name: f"{static}{path.removeprefix('/static')}" for name, path in _packages(static_folder)["imports"].items()
    }
    if static != "/static":
        imports["/static/"] = f"{static}/"
    return {"imports": imports | page_modules().imports(g.language)}


@cache
def _packages(static_folder: Path) -> dict[str, dict[str, str]]:
    """Return the import map of third-party packages, written by the set-up command."""
    path = static_folder / "vendor" / "import-map.json"
    if not path.exists():
        log.warning("the page's packages are missing (%s): run make install", path)
        return {"imports": {}}
    return cast("dict[str, dict[str, str]]", json.loads(path.read_text(encoding="utf-8")))


def _add_error_pages(app: Flask) -> None:
    @app.errorhandler(FieldRefused)
    def field_refused(refused: FieldRefused) -> Response:
        return json_answer(refusal_json(refused), 400)

    @app.errorhandler(HTTPException)
    def http_error(error: HTTPException) -> ResponseReturnValue:
        refused = _refusal_of(error)
        is_api = request.path.startswith("/api/")
        if is_api and refused is not None:
            return json_answer(refusal_json(refused), error.code or 500)
        if (not is_api and isinstance(error.response, Response)) or error.code in (301, 302, 307, 308):
            return error.get_response()
        key = {404: "error.not_found", 429: "error.too_often"}.get(error.code or 500, "error.other")
        texts = in_all_languages(key, code=error.code, path=request.path, limit=REQUESTS_PER_SECOND)
        if is_api:
            return refusal_answer(texts, error.code or 500)
        language = g.get("language", "en")
        text = texts[language]
        if refused is not None:
            text = f"{error.code}: {refused.text[language]}"
        # A browser accepts HTML; for a program that accepts anything, one line is easier to read than a page.
        if request.accept_mimetypes.best_match(["text/plain", "text/html"]) == "text/html" and "language" in g:
            return Response(render_template("error.html", code=error.code, text=text), status=error.code)
        return Response(text + "\n", status=error.code, mimetype="text/plain")


def _refusal_of(error: HTTPException) -> FieldRefused | None:
    """Return what was wrong with the request and what is allowed, where Werkzeug's error knows it."""
    if isinstance(error, RequestEntityTooLarge):
        return FieldRefused("body", Text("field.too_large"), Text("field.bytes", high=request.max_content_length))
    if isinstance(error, MethodNotAllowed):
        allowed = ", ".join(sorted(error.valid_methods or ()))
        return FieldRefused("method", Text("field.bad", value=shown(request.method)), allowed)
    return None


def _add_security_headers(response: Response) -> Response:
    """Add headers so that scripts and styles come from this server only, and other sites may neither read nor frame the
    page, except as :mod:`app.web.framing` allows.
    """
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
    if response.mimetype in _NO_DOCUMENTS:
        return response
    nonce = g.get("csp_nonce", "")
    response.headers.setdefault(
        "Content-Security-Policy",
        "default-src 'none'; "
        f"script-src 'self' 'nonce-{nonce}'; "
        "style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; " + framing_policy(),
    )
    if options := frame_options():
        response.headers.setdefault("X-Frame-Options", options)
    response.headers.setdefault("Referrer-Policy", "no-referrer")
    response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    return response


def _remove_date(response: Response) -> Response:
    """Remove the date, which an answer with a file has: the listener sends one with every answer."""
    response.headers.pop("Date", None)
    return response
