"""The test kit's HTTP API as a WSGI application. It needs no web framework, so a plain installation has it.

Web pages of other sites must not reach it: their requests carry ``Origin``, and are refused.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from msgspec import to_builtins

from app.foundation.json_text import dump_json
from app.picture.refusal import refusal_json
from app.testkit.openapi import DOCUMENT_PATH, ROOT, openapi_document
from app.testkit.operations import OPERATIONS, AnyOperation, Contradiction, TestSession, UnknownFault
from app.testkit.replies import Refusal
from engine.fields.field import path_of, read_fields
from engine.fields.json_input import parse_json
from engine.fields.refusal import FieldRefused, shown
from engine.runtime.live.engine_thread import EngineUnavailable
from engine.testkit import TestKitError
from engine.texts import Text

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

log = logging.getLogger("glassmq.testkit")

#: Bytes of a request's body; the largest is a message body of 4 MiB as a JSON text.
_BODY_BYTES_MAX = 8 << 20
_LENGTH = re.compile("[0-9]{1,18}")
_PART = re.compile(r"\{\w+\}")
#: For each path, in the order of the table: its operations by method.
_BY_PATH: dict[str, dict[str, AnyOperation]] = {}
for _operation in OPERATIONS:
    _BY_PATH.setdefault(_operation.path, {})[_operation.method] = _operation
_PATTERNS = [(re.compile(_PART.sub("([^/]+)", path)), methods) for path, methods in _BY_PATH.items()]


class _Refused(Exception):
    """A request that is answered with ``status``."""

    def __init__(self, status: HTTPStatus, refusal: Refusal, headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(refusal.error)
        self.status, self.refusal, self.headers = status, refusal, headers


class ApiApplication:
    """Carries out the operations on one broker."""

    def __init__(self, session: TestSession) -> None:
        self._session = session

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request; every answer is JSON."""
        headers: Sequence[tuple[str, str]] = ()
        try:
            status, answer = HTTPStatus.OK, self._answer(environ)
        except _Refused as refused:
            status, answer, headers = refused.status, to_builtins(refused.refusal), refused.headers
        except Exception as error:
            log.exception("an operation of the test kit failed")
            status, answer = HTTPStatus.INTERNAL_SERVER_ERROR, to_builtins(Refusal(repr(error), "defect"))
        content = dump_json(answer)
        length = [("Content-Type", "application/json"), ("Content-Length", str(len(content)))]
        start_response(f"{status.value} {status.phrase}", [*length, *headers])
        return [content]

    def _answer(self, environ: WSGIEnvironment) -> Any:
        try:
            if "HTTP_ORIGIN" in environ:
                raise FieldRefused("Origin", Text("field.unknown"), Text("testkit.programs_only"))
            path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
            if path == ROOT + DOCUMENT_PATH and environ["REQUEST_METHOD"] == "GET":
                return openapi_document()
            operation, parts = _route(environ["REQUEST_METHOD"], path)
            request = operation.request(**_read_parameters(operation, parts, environ))
            return to_builtins(operation.handle(self._session, request))
        except FieldRefused as refused:
            status = HTTPStatus.CONFLICT if isinstance(refused, Contradiction) else HTTPStatus.BAD_REQUEST
            raise _Refused(status, _parameter_refusal(refused)) from refused
        except UnknownFault as error:
            known = ", ".join(map(str, self._session.faults)) or Text("testkit.no_faults")
            unknown = FieldRefused("fault_id", Text("field.bad", value=error.args[0]), known)
            raise _Refused(HTTPStatus.NOT_FOUND, _parameter_refusal(unknown)) from None
        except (TestKitError, EngineUnavailable) as error:
            raise _conflict("refused", error) from error
        except AssertionError as error:
            raise _conflict("expectation", error) from error


def _conflict(kind: str, error: Exception) -> _Refused:
    """Return the refusal of what the kit does not do."""
    text = getattr(error, "text", None)
    return _Refused(HTTPStatus.CONFLICT, Refusal(str(error), kind, None if text is None else dict(text)))


def _parameter_refusal(refused: FieldRefused) -> Refusal:
    return Refusal(kind="parameter", **refusal_json(refused))


def _route(method: str, path: str) -> tuple[AnyOperation, tuple[str, ...]]:
    """Return the operation at ``path``, and the texts of its parts. Raises :class:`_Refused`."""
    below = path.removeprefix(ROOT) if path.startswith(f"{ROOT}/") else ""
    for pattern, methods in _PATTERNS:
        if found := pattern.fullmatch(below):
            if method not in methods:
                allowed = ", ".join(methods)
                refused = _parameter_refusal(FieldRefused("method", Text("field.bad", value=shown(method)), allowed))
                raise _Refused(HTTPStatus.METHOD_NOT_ALLOWED, refused, [("Allow", allowed)])
            return methods[method], found.groups()
    near = difflib.get_close_matches(path, [ROOT + known for known in _BY_PATH], n=3) or [ROOT + DOCUMENT_PATH]
    refused = _parameter_refusal(FieldRefused("path", Text("field.bad", value=shown(path)), ", ".join(near)))
    raise _Refused(HTTPStatus.NOT_FOUND, refused)


def _read_parameters(operation: AnyOperation, parts: Sequence[str], environ: WSGIEnvironment) -> Mapping[str, Any]:
    """Return all parameters of a request, checked. Raises :class:`FieldRefused`."""
    read = {
        field.name: field.read(unquote(text), field.name, of_text=True)
        for field, text in zip(operation.parts, parts, strict=True)
    }
    query = _query(environ.get("QUERY_STRING", ""))
    if operation.has_body:
        read_fields((), query, of_text=True)
        return {**read, **read_fields(operation.fields, _body(environ))}
    return {**read, **read_fields(operation.fields, query, of_text=True)}


def _query(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        if name in values:
            raise FieldRefused(path_of(name, ""), Text("field.twice"), Text("field.once"))
        values[name] = value
    return values


def _body(environ: WSGIEnvironment) -> object:
    """Return the JSON body; an empty one is an object without fields."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if not _LENGTH.fullmatch(length) or int(length) > _BODY_BYTES_MAX:
        raise FieldRefused("body", Text("field.too_large"), Text("field.bytes", high=_BODY_BYTES_MAX))
    if int(length) == 0:
        return {}
    mime_type = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if mime_type != "application/json":
        raise FieldRefused("Content-Type", Text("field.bad", value=shown(mime_type)), "application/json")
    body = parse_json(environ["wsgi.input"].read(int(length)))
    return {name: _whole(value) for name, value in body.items()} if isinstance(body, dict) else body


def _whole(value: object) -> object:
    """Return ``1`` for ``1.0``, which is an integer in JSON Schema, and what some languages write for one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
