"""Details that a page requests: bytes of frames and records, pages of the journal, lives of messages."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from flask import Blueprint, Response

from app.lab.foundation.bounds import LIVES_FOUND_MAX
from app.lab.foundation.browser_identity import viewer_of_request
from app.lab.foundation.refusal import LabRefused
from app.lab.routes.journal_requests import read_journal_request, read_window
from app.lab.session.why_job import WhyJob
from app.lab.views.life_view import LifeView
from app.lab.views.record_detail import record_at, record_of_message
from app.web.api import json_answer
from app.web.api_parameters import read_query
from engine.fields.field import Field
from engine.lab.witness.frame_log import PARCELS_REMEMBERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.lab.session.host import LabHost
    from app.lab.session.player import WorldPlayer
    from app.lab.session.worlds import LabWorlds
    from app.picture.message_life import FoundLives
    from app.picture.session.why import Why

_Found = TypeVar("_Found")

#: Characters of a key that is searched for.
KEY_MAX = 200


def add_detail_routes(lab: Blueprint, host: LabHost) -> None:
    """Add ``/api/lab/<world>/...`` to the lab's blueprint.

    All details are of the event that is viewed, past or present.
    """

    def look(world: str, read: Callable[[WorldPlayer], _Found]) -> _Found:
        browser = viewer_of_request()
        return host.ask(lambda worlds: read(worlds.session(world, browser).player))

    @lab.get("/api/lab/<world>/frames/<int:frame>")
    def frame_detail(world: str, frame: int) -> Response:
        detail = look(world, lambda player: player.frame_detail(frame))
        if detail is None:
            raise LabRefused("no_frame", frame=frame, kept=PARCELS_REMEMBERED)
        return json_answer(detail)

    @lab.get("/api/lab/<world>/records/<node>/<int:offset>")
    def record(world: str, node: str, offset: int) -> Response:
        return json_answer(look(world, lambda player: record_at(player.run_looked_at(), node, offset)))

    @lab.get("/api/lab/<world>/records/<node>/<topic>/<int:queue_id>/<int:queue_offset>")
    def record_by_entry(world: str, node: str, topic: str, queue_id: int, queue_offset: int) -> Response:
        place = (node, topic, queue_id, queue_offset)
        return json_answer(look(world, lambda player: record_of_message(player.run_looked_at(), *place)))

    @lab.get("/api/lab/<world>/journal")
    def journal_page(world: str) -> Response:
        read = read_journal_request()
        return json_answer(look(world, lambda player: read(player.run.world.journal)))

    @lab.get("/api/lab/<world>/lives")
    def lives(world: str) -> Response:
        text = read_query(Field("contains", "text", 1, KEY_MAX))["contains"]
        lives = look(world, lambda player: LifeView(player.run_looked_at().world).find(text, LIVES_FOUND_MAX))
        found: FoundLives = {"messages": lives}
        return json_answer(found)

    @lab.get("/api/lab/<world>/why")
    def why(world: str) -> Response:
        key = read_query(Field("key", "text", 1, KEY_MAX))["key"]
        browser = viewer_of_request()

        def ask(worlds: LabWorlds, answer: Future[Why]) -> WhyJob:
            return WhyJob(worlds.session(world, browser).player.recording(), key, answer)

        return json_answer(host.job(browser, ask))

    @lab.get("/api/lab/<world>/window")
    def journal_window(world: str) -> Response:
        left_us, right_us = read_window()
        return json_answer(look(world, lambda player: player.window(left_us, right_us)))
