"""The application of the site: most pages that need no broker, for whatever carries its requests and events.

The build renders its pages with it, and the worker in the visitor's browser answers their requests with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flask import Blueprint, Flask, Response, g, render_template, request

from app.foundation.page_folders import PageFolders
from app.foundation.translator import in_all_languages, translate
from app.lab.routes.explorations import StartSearch
from app.lab.routes.search_process import SearchProcess
from app.lab.session.audience import AudienceTransport
from app.lab.session.host import LabHost
from app.lab_application import LabApplication, LabSettings, add_lab_application
from app.picture.refusal import Refusal
from app.web.api import json_answer
from app.web.flask_application import create_flask

#: Pages of ``glassmq serve`` that need a broker or Spark: neither pages nor the navigation have them.
ABSENT_PAGES = ("/live", "/pipeline")
#: The page to which links to them lead.
NEEDS_A_SERVER = "/needs-a-server"
#: The page of third-party licences.
LICENCES = "/licences"
#: What the pages offer on a server only, by the names of the routes: it starts processes, or outlives the page.
_REFUSED = ("lab.export_html", "lab.import_run")


@dataclass(frozen=True, slots=True)
class SiteApplication:
    """The application: ``app`` answers requests, ``lab`` handles events, in calls of its ``serve_once()`` only."""

    app: Flask
    lab: LabHost
    parts: LabApplication

    def close(self) -> None:
        """End what works, and free all worlds."""
        self.lab.stop()
        self.parts.close()


def create_site_application(
    transport: AudienceTransport,
    folders: PageFolders | None = None,
    clock: Callable[[], float] = time.monotonic,
    third_parties: Sequence[object] = (),
    start_search: StartSearch = SearchProcess,
) -> SiteApplication:
    """Build the application; ``transport`` carries the lab's messages to the page.

    ``third_parties``: rows of the page of licences, see :mod:`app.site.licences`; the build has them.
    ``start_search``: runs the searches for bad schedules.
    """
    folders = folders or PageFolders.find()
    app = create_flask(folders, absent=ABSENT_PAGES, has_versions=False)
    lab = LabHost(transport, clock, has_thread=False)
    parts = add_lab_application(
        app, Blueprint("api", __name__, url_prefix="/api"), lab, folders, LabSettings(start_search=start_search)
    )

    @app.before_request
    def refuse() -> Response | None:
        if request.endpoint not in _REFUSED:
            return None
        why = in_all_languages("site.only_on_a_server")
        refusal: Refusal = {"reason": "needs_a_server", "error": why["en"], "text": why}
        return json_answer(refusal, 501)

    @app.get(NEEDS_A_SERVER)
    def needs_a_server() -> str:
        return render_template("error.html", code=None, text=translate(g.language, "site.needs_a_server"))

    @app.get(LICENCES)
    def licences() -> str:
        return render_template("site/licences.html", parts=third_parties)

    return SiteApplication(app, lab, parts)
