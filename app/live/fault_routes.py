"""Fault injection into the running engine, over HTTP.

A command is one of the lab (``fault``, ``crash``, ...), or several, carried out in order up to the first that is
refused. To end all faults leaves stopped processes as they are; what waits goes on. A look at the held frames makes
them wait longer; the record of frames is a file, which ``/lab/wire`` shows.

Each request answers with :class:`app.picture.live.fault.ActiveFaults` of that moment, except that of the recorded
frames; while the engine is paused, the list of faults is :class:`app.picture.live.fault.PausedEngine`, and all but the
end of the pause is refused. Refused: 400 for an invalid field, else 409; 403 without
``serve --allow-faults``. As with app/live/transaction_routes.py, pages of other sites cannot send these.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app.foundation.translator import in_all_languages
from app.live.live_faults import LiveFaults
from app.picture.live.fault import NoFaults
from app.picture.refusal import RefusedField, RefusedRequest, refusal_json
from app.web.api import json_answer, refusal_answer
from app.web.api_parameters import json_body, read_json, read_part, read_query
from engine.faults.errors import FaultRefused
from engine.fields.field import Field, read_fields
from engine.fields.refusal import FieldRefused
from engine.lab.scenario.errors import CommandRefused

COMMANDS_MAX = 50
_TEXT_MAX = 32_767
_BODY_BYTES_MAX = 48 * 1024


class FaultsNotAllowed(Exception):
    """The server was not started with ``--allow-faults``."""


def add_fault_routes(api: Blueprint, faults: LiveFaults | None) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`. ``faults`` None: they are not allowed."""

    _add_error_answers(api)
    _add_routes_of_held_frames(api, faults)

    @api.get("/faults")
    def show() -> Response:
        read_query()
        if faults is None:
            nothing: NoFaults = {"is_allowed": False, "is_active": False}
            return json_answer(nothing)
        return json_answer(faults.view())

    @api.post("/faults")
    def break_it() -> Response:
        body = json_body()
        service = _allowed(faults)
        if not isinstance(body, dict) or "commands" not in body:
            return json_answer(service.apply(body))
        commands = read_fields([Field("commands", "list", 1, COMMANDS_MAX)], body)["commands"]
        return json_answer([service.apply(command) for command in commands][-1])

    @api.delete("/faults")
    def clear() -> Response:
        return json_answer(_allowed(faults).clear())

    @api.delete("/faults/<rule>")
    def remove(rule: str) -> Response:
        allowed, rule_id = _allowed(faults), read_part(Field("rule", "integer", 1), rule)
        return json_answer(allowed.change(lambda service: service.injector.remove(rule_id)))


def _allowed(faults: LiveFaults | None) -> LiveFaults:
    if faults is None:
        raise FaultsNotAllowed
    return faults


def _add_routes_of_held_frames(api: Blueprint, faults: LiveFaults | None) -> None:
    @api.post("/faults/look")
    def look() -> Response:
        return json_answer(_allowed(faults).change(lambda service: service.injector.look()))

    @api.post("/faults/record")
    def record() -> Response:
        client, bodies = read_json(
            Field("client", "pattern", 0, 200, default=""), Field("bodies", "switch", default=False)
        ).values()
        return json_answer(_allowed(faults).change(lambda service: service.injector.record(client, with_bodies=bodies)))

    @api.delete("/faults/record")
    def stop_recording() -> Response:
        return json_answer(_allowed(faults).change(lambda service: service.injector.stop_recording()))

    @api.get("/faults/frames")
    def frames() -> Response:
        response = json_answer(_allowed(faults).ask(lambda service: service.frames()))
        response.headers["Content-Disposition"] = 'attachment; filename="glassmq-frames.json"'
        return response

    @api.post("/faults/held")
    def pass_all() -> Response:
        read_json(Field("action", "choice", allowed=("pass",)))
        return json_answer(_allowed(faults).change(lambda service: service.injector.stop_holding()))

    @api.post("/faults/held/<held>")
    def decide(held: str) -> Response:
        read = read_json(Field("action", "choice", allowed=("pass", "drop")), *_CHANGES)
        held_id = read_part(Field("held", "integer", 1), held)
        if read["action"] == "drop":
            return json_answer(_allowed(faults).change(lambda service: service.injector.drop_held(held_id)))
        body = None if read["body"] is None else read["body"].encode()
        changes = read["fields"], read["properties"], body
        return json_answer(_allowed(faults).change(lambda service: service.let_pass(held_id, *changes)))


def _add_error_answers(api: Blueprint) -> None:
    @api.errorhandler(FaultsNotAllowed)
    def not_allowed(error: FaultsNotAllowed) -> Response:
        return refusal_answer(in_all_languages("faults.not_allowed"), 403)

    @api.errorhandler(FaultRefused)
    def refused(error: FaultRefused) -> Response:
        return refusal_answer(error.text, 409)

    @api.errorhandler(CommandRefused)
    def malformed(error: CommandRefused) -> Response:
        reported: RefusedRequest = {"error": str(error), "text": dict(error.text)}
        if isinstance(error.__cause__, FieldRefused):
            field: RefusedField = {**refusal_json(error.__cause__), **reported}
            return json_answer(field, 400)
        return json_answer(reported, 400)


def _fits(body: str) -> None:
    if (length := len(body.encode())) > _BODY_BYTES_MAX:
        raise ValueError(f"has {length} bytes")


#: What may be changed in a held frame.
_CHANGES = (
    Field("fields", "texts", 0, 100, default={}, each=_TEXT_MAX),
    Field("properties", "texts", 0, 100, default={}, each=_TEXT_MAX),
    Field("body", "text", 0, _BODY_BYTES_MAX, default=None, check=_fits),
)
