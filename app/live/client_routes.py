"""The internals of a group's members over HTTP, which the panel "Inside the clients" polls every two seconds.

The request causes the members to be asked (307), each once a second at most; those that do not answer, less often.
"""

from __future__ import annotations

from flask import Blueprint, Response

from app.web.api import json_answer
from app.web.api_parameters import read_query
from app.web.live_source import LiveSource
from engine.fields.field import Field
from engine.protocol.names import validate_group


def add_client_routes(api: Blueprint, source: LiveSource) -> None:
    """Add the route to the blueprint of :func:`app.web.api.create_api`, whose error handling it uses."""

    @api.get("/live/clients")
    def clients() -> Response:
        group = read_query(Field("group", "text", 1, 255, check=validate_group))["group"]
        return json_answer(source.ask(lambda live: live.clients(group))())
