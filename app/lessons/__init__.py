"""Lessons: texts, predictions and actions about a world of the lab, checked by the engine that runs in it.

A lesson is a folder ``tutorials/NN-name`` (docs/lessons.md describes how to write one). Its world is a scenario of the
lab like any other, opened by the page over Socket.IO (:mod:`app.lab`) under the lesson's name.

``GET /tutorials/<name>`` puts :class:`app.picture.pages.lesson.ShownLesson` into the page. ``POST
/api/lessons/<name>/check {world, step, prediction?}`` answers with :class:`~app.picture.pages.lesson.StepCheck` and
:class:`~app.picture.pages.lesson.LessonProgress`, ``POST /api/lessons/<name>/reset`` forgets the progress.
"""
