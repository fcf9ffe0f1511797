"""The pages of the articles: the list, one article, and for each lesson the articles that lead to it."""

from __future__ import annotations

import logging

from flask import Blueprint, Response, abort, g, render_template

from app.articles.article_files import ARTICLE_NAMES, load_article, load_articles
from app.articles.article_page import article_data, article_entry, articles_of_lesson
from app.lessons.errors import LessonError
from app.picture.pages.article import ArticleOfLesson

log = logging.getLogger("glassmq.http")


def create_article_pages() -> Blueprint:
    """Return the blueprint with ``/tutorials/articles``."""
    pages = Blueprint("articles", __name__)

    @pages.get("/tutorials/articles")
    def article_list() -> str:
        return render_template("articles.html", articles=[article_entry(each, g.language) for each in load_articles()])

    @pages.get("/tutorials/articles/<name>")
    def one_article(name: str) -> str:
        if name not in ARTICLE_NAMES:
            abort(404)
        return render_template("article.html", article=article_data(load_article(name), g.language))

    @pages.app_context_processor
    def of_lesson() -> dict[str, object]:
        return {"articles_of_lesson": _articles_of_lesson}

    @pages.errorhandler(LessonError)
    def broken(error: LessonError) -> Response:
        log.error("an article cannot be read: %s", error)
        return Response(f"{error}\n", status=500, mimetype="text/plain")

    return pages


def _articles_of_lesson(lesson: str) -> list[ArticleOfLesson]:
    """Return the articles of a lesson; none when the rows of an article cannot be read, so that the lesson's page still
    works.
    """
    try:
        return articles_of_lesson(load_articles(), lesson, g.language)
    except LessonError as error:
        log.error("a lesson's page names no articles: %s", error)
        return []
