"""Lessons: texts, predictions and actions about a world of the lab, checked by the engine that runs in it.

A lesson is a folder ``tutorials/NN-name`` (docs/lessons.md describes how to write one). Its world is a scenario of the
lab like any other, opened by the page over Socket.IO (:mod:`app.lab`) under the lesson's name. What its page gets:
:mod:`app.picture.pages.lesson`.
"""
