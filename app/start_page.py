"""The start page ``/``, and the film that it shows: ``/api/demonstration``, see :mod:`app.lab.routes.demonstration`."""

from __future__ import annotations

import contextlib

from flask import Blueprint, Response, render_template, request

from app.lab.foundation.refusal import LabRefused
from app.lab.routes.demonstration import Demonstration
from app.lab.routes.film_file import built_film
from app.lab.session.host import LabHost
from app.web.api import json_answer


def create_start_page(host: LabHost) -> Blueprint:
    """Return the blueprint over the lab's ``host``."""
    start_page = Blueprint("start_page", __name__)
    demonstration = Demonstration(host.start_film)

    @start_page.get("/")
    def landing() -> str:
        # Without a built film, it is made while the browser still reads the page. A busy lab makes it on request.
        if built_film() is None:
            with contextlib.suppress(LabRefused):
                demonstration.begin()
        return render_template("landing.html")

    @start_page.get("/api/demonstration")
    def film() -> Response:
        file = built_film() or demonstration.file(host.film_of(demonstration.begin()))
        response = Response(mimetype="application/json")
        response.set_etag(file.etag)
        # Browsers keep it, but revalidate: another version of the engine makes another film.
        response.headers["Cache-Control"] = "no-cache"
        response.headers["Vary"] = "Accept-Encoding"
        if request.if_none_match.contains(file.etag):
            response.status_code = 304
        elif request.accept_encodings["gzip"] > 0:
            response.headers["Content-Encoding"] = "gzip"
            response.set_data(file.packed)
        else:
            response.set_data(file.unpacked())
        return response

    @start_page.errorhandler(LabRefused)
    def refused(refusal: LabRefused) -> Response:
        return json_answer(refusal.as_json(), 503)

    return start_page
