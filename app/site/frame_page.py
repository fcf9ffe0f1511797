"""Recorded frames as one HTML file that needs no server: what a failed test of the test kit leaves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from flask import g, render_template

from app.foundation.page_folders import PageFolders
from app.foundation.version import version
from app.lab.foundation.refusal import fields_refused
from app.lab.routes.html_export import self_contained
from app.lab.views.frame_recording_view import frame_recording_view
from app.site.application import create_site_application
from app.site.build import NoPages
from app.web.page_modules import page_modules
from engine.fields.field import Field, read_fields
from engine.texts import LANGUAGES

#: What a failed test adds to a file of frames: its id, and its failure.
_TEST = (Field("title", "text", 0, 1_000, default=""), Field("note", "text", 0, 1_000, default=""))


def create_frame_pages() -> Callable[[object, str], str]:
    """Return a function of the content of a file of frames and of a title for those without one: the page.

    It raises :class:`app.lab.foundation.refusal.LabRefused` that names what is wrong with the file.
    """
    folders = PageFolders.find()
    application = create_site_application(NoPages(), folders)

    def frame_page(data: object, title: str) -> str:
        film = frame_recording_view(data)
        with fields_refused("import"):
            test = read_fields(_TEST, data, what="file", is_open=True)
        film["view"]["title"] = dict.fromkeys(LANGUAGES, test["title"] or title)
        if test["note"]:
            film["view"]["summary"] = dict.fromkeys(LANGUAGES, test["note"])
        recording = {**film, "exported": datetime.now(tz=UTC).date().isoformat(), "version": version()}
        with application.app.test_request_context("/lab/wire"):
            application.app.preprocess_request()
            g.stands_alone = True
            page = render_template("lab.html", lab_data={"recording": recording})
            return self_contained(page, folders.static, page_modules(application.app).text)

    return frame_page
