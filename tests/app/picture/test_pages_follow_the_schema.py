"""The tables and lists of the pages are what app/picture says."""

from __future__ import annotations

import pytest

from app.articles.article_files import load_articles
from app.articles.article_page import article_data
from app.foundation.page_folders import PageFolders
from app.lab.routes.routes import page_tables
from app.lab.routes.scenario_list import scenario_shelves
from app.lab.routes.search_order import outline
from app.lab.views.world_view import WorldView
from app.lessons.course import load_course
from app.lessons.lesson_files import load_lesson
from app.lessons.lesson_page import lesson_entry, track_entry
from app.lessons.lesson_view import lesson_view
from app.lessons.progress import DoneStep, LessonStepDone
from app.lessons.progress_file import progress_file
from app.picture.pages.article import ShownArticle
from app.picture.pages.lab import ScenarioRow, StageTables
from app.picture.pages.lesson import LessonView, ProgressFile, TrackRow
from app.picture.pages.search import SearchOutline
from engine.lab.explorer.plan import ExplorationRequest, make_plan
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.picture.schema_problems import schema_problems


def first_track():
    course = load_course()
    track = course.tracks[0]
    rows = [lesson_entry(load_lesson(name), {}, course) for name in track.lessons]
    return track_entry(track, rows, PageFolders.find().static)


def viewed_lesson():
    with LabRun(load_scenario("03-ordered-consumption")) as run:
        view = WorldView(run)
        run.run_to_time(5_000_000)
        return lesson_view(view.build(), run.world.history)


@pytest.mark.parametrize(
    ("made", "schema"),
    [
        (page_tables, StageTables),
        (lambda: scenario_shelves(PageFolders.find().static)["basics"], list[ScenarioRow]),
        (lambda: outline(make_plan(ExplorationRequest(load_scenario("three-locks")))), SearchOutline),
        (lambda: [article_data(article, "en") for article in load_articles()], list[ShownArticle]),
        (first_track, TrackRow),
        (viewed_lesson, LessonView),
        (lambda: progress_file([LessonStepDone("01-first-message", 1.5, DoneStep("route", "4", True))]), ProgressFile),
    ],
)
def test_a_table_or_list_of_the_pages_follows_the_schema(made, schema):
    assert list(schema_problems(made(), schema)) == []
