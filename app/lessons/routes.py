"""Lessons over HTTP: the list, one lesson, the check of a step, a reset, and progress as a file."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

from flask import Blueprint, Response, abort, render_template
from flask.typing import ResponseReturnValue

from app.foundation.page_folders import PageFolders
from app.lab.foundation.bounds import IMPORT_MAX_BYTES
from app.lab.foundation.browser_identity import browser_of_request, remember_browser
from app.lab.foundation.refusal import LabRefused
from app.lab.routes.routes import answer_refusals, known_browser, read_json_body
from app.lab.session.host import LabHost
from app.lab.session.worlds import LabWorlds
from app.lessons.check import check_step, read_check
from app.lessons.course import load_course
from app.lessons.errors import LessonError, UnknownLesson
from app.lessons.lesson import Lesson
from app.lessons.lesson_files import lesson_names, load_lesson
from app.lessons.lesson_page import lesson_data, lesson_entry, progress_json, searched_words, track_entry
from app.lessons.progress import LearnerProgress
from app.lessons.progress_file import progress_file, read_progress_file
from app.lessons.rehearsal import Rehearsal, known_rehearsal, rehearse_once
from app.picture.pages.lesson import CheckedStep, ImportedProgress, StepCheck
from app.web.api import json_answer

log = logging.getLogger("glassmq.http")


def create_lesson_routes(host: LabHost, progress: LearnerProgress) -> Blueprint:
    """Return the blueprint with ``/tutorials`` and ``/api/lessons``."""
    lessons = Blueprint("lessons", __name__)
    rehearsing = threading.Lock()
    _add_progress_file(lessons, progress)

    def rehearsal_of(lesson: Lesson) -> Rehearsal:
        """Return the rehearsal, made once in the lab's thread, when the lesson is first opened."""
        with rehearsing:
            return known_rehearsal(lesson) or host.ask(lambda _: rehearse_once(lesson))

    @lessons.get("/tutorials")
    def lesson_list() -> ResponseReturnValue:
        browser = browser_of_request()
        course, lessons = load_course(), {lesson.name: lesson for lesson in _readable_lessons()}
        static_folder, tracks = PageFolders.find().static, []
        for track in course.tracks:
            readable = [name for name in track.lessons if name in lessons]
            rows = [lesson_entry(lessons[name], progress.done(browser, name), course) for name in readable]
            tracks.append(track_entry(track, rows, static_folder))
        return remember_browser(
            Response(render_template("tutorials.html", tracks=tracks, import_max_bytes=IMPORT_MAX_BYTES))
        )

    @lessons.get("/tutorials/<name>")
    def one_lesson(name: str) -> ResponseReturnValue:
        if name not in lesson_names():
            abort(404)
        lesson = load_lesson(name)
        done = progress.done(browser_of_request(), name)
        try:
            rehearsal = rehearsal_of(lesson)
        except LabRefused as refusal:
            abort(503, description=str(refusal))
        data = lesson_data(lesson, rehearsal, done, load_course())
        page = render_template("lesson.html", lesson_data=data)
        return remember_browser(Response(page))

    @lessons.post("/api/lessons/<name>/check")
    def check(name: str) -> Response:
        lesson, browser = _lesson(name), known_browser()
        request = read_check(read_json_body(), lesson)
        rehearsal, done = rehearsal_of(lesson), progress.done(browser, name)

        def in_lab(worlds: LabWorlds) -> StepCheck:
            return check_step(lesson, request, worlds.session(request.world, browser), rehearsal, done)

        result = host.ask(in_lab)
        if result["done"]:
            progress.note(browser, name, request.done_step(result["prediction"]))
        checked: CheckedStep = {**result, **progress_json(progress.done(browser, name))}
        return json_answer(checked)

    @lessons.post("/api/lessons/<name>/reset")
    def reset(name: str) -> Response:
        progress.reset(known_browser(), _lesson(name).name)
        return json_answer(progress_json({}))

    answer_refusals(lessons)

    @lessons.errorhandler(LessonError)
    def broken(error: LessonError) -> Response:
        log.error("a lesson cannot be read: %s", error)
        return Response(f"{error}\n", status=500, mimetype="text/plain")

    return lessons


def _add_progress_file(lessons: Blueprint, progress: LearnerProgress) -> None:
    @lessons.get("/api/lessons/progress")
    def export_progress() -> Response:
        answer = json_answer(progress_file(progress.all_done(browser_of_request())))
        answer.headers["Content-Disposition"] = 'attachment; filename="glassmq-lessons.json"'
        return answer

    @lessons.post("/api/lessons/progress")
    def import_progress() -> Response:
        browser, steps = known_browser(), read_progress_file(read_json_body())
        known = {lesson.name: {step.identity for step in lesson.steps} for lesson in _readable_lessons()}
        taken = [each for each in steps if each.done.step in known.get(each.lesson, ())]
        for each in taken:
            progress.note(browser, each.lesson, each.done, each.done_at)
        imported: ImportedProgress = {"taken": len(taken), "unknown": len(steps) - len(taken)}
        return json_answer(imported)


def lesson_words() -> dict[str, str]:
    """Return lesson -> the words by which people may look for it, in both languages, in lower case."""
    return {lesson.name: searched_words(lesson) for lesson in _readable_lessons()}


def _readable_lessons() -> Iterator[Lesson]:
    """Yield the lessons that can be read: one that its author is just writing must not hide the others; its own page
    reports the errors.
    """
    for name in lesson_names():
        try:
            yield load_lesson(name)
        except LessonError as error:
            log.error("a lesson is left out of the list: %s", error)


def _lesson(name: str) -> Lesson:
    try:
        return load_lesson(name)
    except UnknownLesson:
        raise LabRefused("no_lesson", lesson=name[:80], known=", ".join(lesson_names())) from None
