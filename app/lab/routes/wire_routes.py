"""Recorded frames of real clients, shown by the lab's page.

GET  /lab/wire      what this server has recorded; else a form for a file
GET  /api/lab/wire  the newest recorded frames, see ``frame_recording_strip`` of
                    :mod:`app.lab.views.frame_recording_view`
POST /lab/wire      the field ``file`` of a form: a file that GET /api/faults/frames returned
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response, g, render_template, request
from flask.typing import ResponseReturnValue

from app.foundation.translator import in_all_languages
from app.lab.foundation.refusal import LabRefused
from app.lab.recorded.recorded_scenario import recorded_film
from app.lab.routes.html_export import film_page
from app.lab.views.frame_recording_view import frame_recording_strip
from app.lab.views.recorded_frames import FILE_BYTES_MAX, parse_frames
from app.web.api import json_answer, refusal_answer
from engine.faults.errors import FaultRefused
from engine.runtime.live.engine_thread import EngineUnavailable

if TYPE_CHECKING:
    from app.live.live_faults import LiveFaults
    from app.picture.session.film import FrameStrip

#: Frames that a strip shows.
STRIP_FRAMES = 24


def add_wire_routes(lab: Blueprint, faults: LiveFaults | None) -> None:
    """Add the routes. ``faults`` None: this server records nothing, and shows files only."""
    _add_strip(lab, faults)

    def form(problem: str = "", status: int = 200) -> Response:
        page = Response(render_template("lab_wire.html", problem=problem), status=status)
        # Without it browsers send the form with the origin "null", which the gate refuses.
        page.headers["Referrer-Policy"] = "same-origin"
        return page

    @lab.get("/lab/wire")
    def recorded() -> ResponseReturnValue:
        try:
            if faults is None or "file" in request.args:
                return form()
            return film_page(recorded_film(faults.ask(lambda service: service.frames())))
        except FaultRefused:
            return form()
        except LabRefused as refusal:
            return form(refusal.text[g.language], 400)
        except EngineUnavailable as error:
            return form(str(error), 503)

    @lab.post("/lab/wire")
    def from_file() -> ResponseReturnValue:
        request.max_content_length = FILE_BYTES_MAX
        request.max_form_memory_size = FILE_BYTES_MAX
        file = request.files.get("file")
        try:
            if file is None:
                raise LabRefused("no_frame_file", format="glassmq-frames", version=1)
            return film_page(recorded_film(parse_frames(file.read())))
        except LabRefused as refusal:
            return form(refusal.text[g.language], 400)


def _add_strip(lab: Blueprint, faults: LiveFaults | None) -> None:
    @lab.get("/api/lab/wire")
    def newest() -> Response:
        nothing: FrameStrip = {"lanes": [], "frames": []}
        try:
            data = None if faults is None else faults.ask(lambda service: service.frames(STRIP_FRAMES))
            return json_answer(nothing if data is None or not data["frames"] else frame_recording_strip(data))
        except FaultRefused:
            return json_answer(nothing)
        except EngineUnavailable as error:
            return refusal_answer(in_all_languages("api.unavailable", why=error), 503)
