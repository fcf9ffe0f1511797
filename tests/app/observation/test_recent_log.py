"""The log lines that the page shows."""

import logging

import pytest

from app.foundation.patch import difference
from app.observation.recent_log import LINE_LENGTH_MAX, LINES_MAX, RecentLog


@pytest.fixture
def logger():
    logger = logging.getLogger("glassmq.test_recent_log")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    yield logger
    logger.handlers.clear()


@pytest.fixture
def recent(logger):
    recent = RecentLog()
    logger.addHandler(recent)
    return recent


def test_a_line_says_when_how_grave_where_and_what(logger, recent):
    logger.warning("queue %d is gone", 3)
    (line,) = recent.lines()
    assert (line["level"], line["part"], line["text"]) == ("WARNING", "test_recent_log", "queue 3 is gone")
    assert line["at_us"] > 1_700_000_000_000_000


def test_only_the_newest_lines_are_kept(logger, recent):
    for number in range(3 * LINES_MAX):
        logger.info("%d", number)
    assert [line["text"] for line in recent.lines()] == [str(n) for n in range(2 * LINES_MAX, 3 * LINES_MAX)]


def test_debug_lines_are_not_for_the_page(logger, recent):
    logger.debug("detail")
    assert recent.lines() == []


def test_a_long_line_is_cut(logger, recent):
    logger.info("x" * 10 * LINE_LENGTH_MAX)
    assert len(recent.lines()[0]["text"]) <= LINE_LENGTH_MAX + 4


def test_new_lines_reach_the_page_as_an_append(logger, recent):
    for number in range(LINES_MAX):
        logger.info("%d", number)
    before = {"log": recent.lines()}
    logger.info("new")
    ((operation, path, added, kept),) = difference(before, {"log": recent.lines()})
    assert (operation, path, [line["text"] for line in added], kept) == ("append", ["log"], ["new"], LINES_MAX)
