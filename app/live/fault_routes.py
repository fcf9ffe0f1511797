"""Fault injection into the running engine, over HTTP.

    GET    /api/faults              the active faults: ``is_allowed``, ``is_active``, ``rules`` with ``seen`` and
           ``hits``,
                                    ``hits`` (the newest first), ``broken``, ``broker_crashed_ms`` (when it was killed),
                                    ``clock_ahead_ms``, the ``held`` frames
                                    that came first, of ``held_count``, ``lease_ms``: how much longer these wait unless
                                    they are viewed, and ``delayed_count``
    POST   /api/faults              a command of the lab ({"kind": "fault", "target": "broker-a", "what": "drop", ...});
                                    or {"commands": [...]}, in order, up to the first that is refused
    DELETE /api/faults              ends all faults, except stopped processes; what waits goes on
    DELETE /api/faults/<rule>       removes one rule
    POST   /api/faults/look         the held frames are viewed
    POST   /api/faults/held         {"action": "pass"}: all are released, and holding ends
    POST   /api/faults/held/<id>    {"action": "pass", "fields": {...}, "properties": {...}, "body": "..."}; "action" is
                                    required; or {"action": "drop"}

    POST   /api/faults/record       {"client": "10.0.0.7*", "bodies": false}: record these clients' frames from now on
           (empty: all clients); DELETE ends it
    GET    /api/faults/frames       the record as a file, which /lab/wire shows

Each answers with the faults that are active then. Refused: ``{"error", "text": {en, zh}}``, 400 for an invalid field,
else 409; 403 without ``serve --allow-faults``. As with app/live/transaction_routes.py, pages of other sites cannot send
these.
"""

from __future__ import annotations

from flask import Blueprint, Response, request

from app.foundation.json_types import JsonObject, JsonValue
from app.foundation.translator import in_all_languages
from app.live.live_faults import LiveFaults
from app.web.api import json_answer
from app.web.api_parameters import BadParameter, only_known, read_json_object, shown, whole_number
from engine.faults.errors import FaultRefused
from engine.lab.scenario.errors import CommandRefused

COMMANDS_MAX = 50
_ID_MAX = 2**53
#: The action, under its name and the name that it had before 0.2.
_ACTION_KEYS = ("action", "deed")
_TEXT_MAX = 32_767
_CLIENT_MAX = 200
_BODY_BYTES_MAX = 48 * 1024


class FaultsNotAllowed(Exception):
    """The server was not started with ``--allow-faults``."""


def add_fault_routes(api: Blueprint, faults: LiveFaults | None) -> None:
    """Add the routes to the blueprint of :func:`app.web.api.create_api`. ``faults`` None: they are not allowed."""

    _add_error_answers(api)
    _add_routes_of_held_frames(api, faults)

    @api.get("/faults")
    def show() -> Response:
        only_known(request.args, ())
        if faults is None:
            return json_answer({"is_allowed": False, "is_active": False})
        return json_answer({"is_allowed": True, **faults.view()})

    @api.post("/faults")
    def break_it() -> Response:
        body = _any_json_object()
        service = _allowed(faults)
        if "commands" not in body:
            return json_answer(service.apply(body))
        commands = body["commands"]
        if not isinstance(commands, list) or not 0 < len(commands) <= COMMANDS_MAX or len(body) > 1:
            raise BadParameter("commands", "it is not a plain list of commands", f"1 to {COMMANDS_MAX} commands")
        return json_answer([service.apply(command) for command in commands][-1])

    @api.delete("/faults")
    def clear() -> Response:
        return json_answer(_allowed(faults).clear())

    @api.delete("/faults/<rule>")
    def remove(rule: str) -> Response:
        return json_answer(_allowed(faults).remove(whole_number("rule", rule, 1, _ID_MAX)))


def _allowed(faults: LiveFaults | None) -> LiveFaults:
    if faults is None:
        raise FaultsNotAllowed
    return faults


def _add_routes_of_held_frames(api: Blueprint, faults: LiveFaults | None) -> None:
    @api.post("/faults/look")
    def look() -> Response:
        return json_answer(_allowed(faults).look())

    @api.post("/faults/record")
    def record() -> Response:
        body = read_json_object(("client", "bodies"), '{"client": "10.0.0.7*", "bodies": true}')
        client, bodies = body.get("client", ""), body.get("bodies", False)
        if not isinstance(client, str) or len(client) > _CLIENT_MAX or "*" in client[:-1]:
            raise BadParameter("client", "it is not a pattern", f"at most {_CLIENT_MAX} characters, * only at the end")
        if not isinstance(bodies, bool):
            raise BadParameter("bodies", f"{shown(str(bodies))} is not valid", "true or false")
        return json_answer(_allowed(faults).record(client, with_bodies=bodies))

    @api.delete("/faults/record")
    def stop_recording() -> Response:
        return json_answer(_allowed(faults).stop_recording())

    @api.get("/faults/frames")
    def frames() -> Response:
        response = json_answer(_allowed(faults).frames())
        response.headers["Content-Disposition"] = 'attachment; filename="glassmq-frames.json"'
        return response

    @api.post("/faults/held")
    def pass_all() -> Response:
        body = read_json_object(_ACTION_KEYS, '{"action": "pass"}')
        _action(body, ("pass",))
        return json_answer(_allowed(faults).pass_all())

    @api.post("/faults/held/<held>")
    def decide(held: str) -> Response:
        body = read_json_object(
            (*_ACTION_KEYS, "fields", "properties", "body"), '{"action": "pass", "properties": {"KEYS": "k"}}'
        )
        held_id = whole_number("held", held, 1, _ID_MAX)
        if _action(body, ("pass", "drop")) == "drop":
            return json_answer(_allowed(faults).drop_held(held_id))
        changes = _texts(body, "fields"), _texts(body, "properties"), _body(body)
        return json_answer(_allowed(faults).let_pass(held_id, *changes))


def _add_error_answers(api: Blueprint) -> None:
    @api.errorhandler(FaultsNotAllowed)
    def not_allowed(error: FaultsNotAllowed) -> Response:
        text = in_all_languages("faults.not_allowed")
        return json_answer({"error": text["en"], "text": text}, 403)

    @api.errorhandler(FaultRefused)
    def refused(error: FaultRefused) -> Response:
        return json_answer({"error": str(error), "text": dict(error.text)}, 409)

    @api.errorhandler(CommandRefused)
    def malformed(error: CommandRefused) -> Response:
        return json_answer({"error": str(error), "text": dict(error.text)}, 400)


def _any_json_object() -> JsonObject:
    """Return the body of the current request; its allowed fields depend on the command."""
    fields = ("kind", "target", "commands", *_command_fields())
    return read_json_object(fields, '{"kind": "fault", "target": "broker-a", "what": "drop", "frame": "HEART_BEAT"}')


def _command_fields() -> tuple[str, ...]:
    from app.live.fault_service import LIVE_COMMANDS

    return tuple({field.name: None for kind in LIVE_COMMANDS.values() for field in kind.fields})


def _action(body: JsonObject, known: tuple[str, ...]) -> str:
    action = body.get("action", body.get("deed"))
    if not isinstance(action, str) or action not in known:
        raise BadParameter("action", f"{shown(str(action))} is not valid", ", ".join(known))
    return action


def _texts(body: JsonObject, name: str) -> dict[str, str]:
    value: JsonValue = body.get(name) or {}
    if isinstance(value, dict) and len(value) <= 100:
        texts = {key: text for key, text in value.items() if isinstance(text, str) and len(text) <= _TEXT_MAX}
        if len(texts) == len(value):
            return texts
    raise BadParameter(name, "it is not an object of strings", f"at most 100 strings of at most {_TEXT_MAX} characters")


def _body(body: JsonObject) -> bytes | None:
    text = body.get("body")
    if text is None:
        return None
    if isinstance(text, str):
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise BadParameter("body", "it is not UTF-8 text", f"at most {_BODY_BYTES_MAX} bytes") from None
        if len(data) <= _BODY_BYTES_MAX:
            return data
    raise BadParameter("body", "it is not a string, or too long", f"at most {_BODY_BYTES_MAX} bytes")
