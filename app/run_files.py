"""HTML files that need no server: a run, a page that holds the stage of a site, and frames of real clients."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flask import render_template

from app.foundation.page_folders import PageFolders
from app.lab.recorded.recorded_scenario import recorded_film
from app.lab.routes.html_export import recording_page
from app.lab.routes.routes import page_tables
from app.lab.routes.scenario_list import poster
from app.lab.session.film import FilmMaker
from app.lab.views.recorded_frames import parse_frames
from app.web.flask_application import create_flask
from app.web.page_modules import page_modules
from engine.texts import LANGUAGES

if TYPE_CHECKING:
    from app.picture.session.film import Film
    from engine.lab.run.recording import Recording


def recording_file(recording: Recording, language: str) -> str:
    """Return a page that replays the run offline, and opens at its last event."""
    answer: Future[Film] = Future()
    maker = FilmMaker(recording, answer)
    try:
        while not maker.advance(lambda: False):
            pass
    finally:
        maker.close()
    with _rendering(language) as static_folder:
        return recording_page(answer.result(), static_folder)


def live_file(recording: Recording, site: str, language: str) -> str:
    """Return a page that holds the stage of the run in a frame of ``site``, or the scenario's picture while the site
    does not answer.
    """
    scenario = recording.scenario
    pages = site if language == LANGUAGES[0] else f"{site}/{language}"
    with _rendering(language) as static_folder:
        shown = poster(scenario.name, static_folder)
        path = shown["pictures"].get("light")
        picture = path and base64.b64encode((static_folder / path.removeprefix("/static/")).read_bytes()).decode()
        return render_template(
            "site/live_run.html",
            stage=f"{pages}/lab/{scenario.name}/",
            link=recording.link(),
            answers_at=f"{site}/versions.json",
            title=scenario.title[language],
            picture=picture,
            shows=shown["shows"].get(language, ""),
        )


def frames_file(content: bytes | str, name: str) -> str:
    """Return a page of a file of frames. ``name``: its title, if the file has none.

    Raises :class:`app.lab.foundation.refusal.LabRefused` that names what is wrong with the file.
    """
    film = recorded_film(parse_frames(content), name)
    with _rendering(LANGUAGES[0]) as static_folder:
        return recording_page(film, static_folder)


@contextmanager
def _rendering(language: str) -> Iterator[Path]:
    """Let templates be rendered within the block; return the folder of static files."""
    folders = PageFolders.find()
    app = create_flask(folders)
    page_modules(app).add_import("lab-tables", page_tables)
    with app.test_request_context(query_string={"lang": language}):
        app.preprocess_request()
        yield folders.static
