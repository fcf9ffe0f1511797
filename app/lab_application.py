"""The pages that need no broker: start page, lab, lessons, articles, glossary, storage laboratory and filter bench.

``glassmq serve`` has them next to the live page, and the site without a server has only them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flask import Blueprint, Flask

from app.articles.routes import create_article_pages
from app.foundation.page_folders import PageFolders
from app.glossary.routes import create_glossary_page, term_words
from app.lab.routes.audits import LabAudits
from app.lab.routes.exploration_routes import create_exploration_routes
from app.lab.routes.explorations import Explorations, StartSearch
from app.lab.routes.routes import create_lab_routes, page_tables
from app.lab.routes.scenario_list import scenario_shelves, scenario_words
from app.lab.routes.search_process import SearchProcess
from app.lab.session.host import LabHost
from app.lessons.progress import FILE_NAME as LESSONS_FILE
from app.lessons.progress import LearnerProgress
from app.lessons.routes import create_lesson_routes, lesson_words
from app.live.filter_bench import add_filter_routes
from app.live.live_faults import LiveFaults
from app.pipeline.host import PipelineHost
from app.start_page import create_start_page
from app.storage.laboratory.laboratory import Laboratory
from app.storage.routes import add_storage_routes
from app.storage.run_routes import add_run_routes
from app.storage.runs.host import StorageRuns
from app.storage.runs.report import Work
from app.web.flask_application import add_page
from app.web.page_modules import page_modules


@dataclass(frozen=True, slots=True)
class LabSettings:
    """Settings of these pages: see :class:`app.web_application.WebSettings`.

    :ivar embedders: other sites whose pages may embed a stage.
    :ivar start_search: runs the searches for bad schedules.
    :ivar storage_works: measurements of the storage laboratory.
    """

    data_folder: Path | None = None
    pipeline: PipelineHost | None = None
    embedders: tuple[str, ...] = ()
    faults: LiveFaults | None = None
    start_search: StartSearch = SearchProcess
    storage_works: Mapping[str, Work] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabApplication:
    """The background services of the lab's pages."""

    explorations: Explorations
    audits: LabAudits
    progress: LearnerProgress
    storage: Laboratory
    storage_runs: StorageRuns

    def close(self) -> None:
        """End what works, and close what is open."""
        self.explorations.close()
        self.storage_runs.close()
        self.storage.close()
        self.audits.close()
        self.progress.close()


def add_lab_application(
    app: Flask, api: Blueprint, lab: LabHost, folders: PageFolders, settings: LabSettings
) -> LabApplication:
    """Add the pages to ``app``, and ``api``, which gets their routes."""
    made = LabApplication(
        explorations=Explorations(settings.start_search),
        audits=LabAudits(settings.pipeline),
        progress=LearnerProgress(None if settings.data_folder is None else settings.data_folder / LESSONS_FILE),
        storage=Laboratory(),
        storage_runs=StorageRuns(settings.storage_works),
    )
    modules = page_modules(app)
    modules.add_import("lab-tables", page_tables)
    modules.add("words-of-scenarios", scenario_words)
    modules.add("words-of-lessons", lesson_words)
    modules.add("words-of-terms", term_words)
    add_filter_routes(api)
    add_run_routes(api, made.storage_runs)
    add_storage_routes(api, made.storage, lambda: scenario_shelves(folders.static)["storage"], made.storage_runs.kinds)
    app.register_blueprint(api)
    app.register_blueprint(create_lab_routes(lab, folders.static, made.audits, settings.embedders, settings.faults))
    app.register_blueprint(create_exploration_routes(lab, made.explorations))
    app.register_blueprint(create_start_page(lab))
    add_page(app, "filters")
    add_page(app, "storage")
    app.register_blueprint(create_lesson_routes(lab, made.progress))
    app.register_blueprint(create_article_pages())
    app.register_blueprint(create_glossary_page())
    return made
