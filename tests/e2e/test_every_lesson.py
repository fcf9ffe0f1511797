"""Every step of every lesson in Chromium, in both languages."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from app.lessons.lesson_files import lesson_names
from engine.texts import LANGUAGES
from tests.e2e.conftest import choose_language
from tests.e2e.lesson_page import (
    found_targets,
    lesson,
    lesson_data,
    link_of_world,
    read_finished_lesson,
    take_step,
)
from tests.e2e.scenes import empty_scene


@pytest.mark.parametrize("name", lesson_names())
def test_a_learner_goes_through_every_step_and_reads_it_in_the_other_language_too(serve, open_page, name):
    """Every other lesson is worked through in Chinese and then read in English."""
    language, other = LANGUAGES if lesson_names().index(name) % 2 == 0 else reversed(LANGUAGES)
    page = lesson(open_page(f"{serve(empty_scene())}/tutorials/{name}?lang={language}", reduced_motion="reduce"))
    data = lesson_data(page)
    page.locator("#lesson-next").click()
    for step in data["steps"]:
        expect(page.locator("#lesson-heading")).to_have_text(step["heading"][language])
        assert link_of_world(page) == step["start_link"], "the page's world is the one that the lesson was tried with"
        begin = found_targets(page, step["point_at"])
        take_step(page, step)
        assert {*begin, *found_targets(page, step["point_at"])} == set(step["point_at"])
        page.locator("#lesson-next").click()
    expect(page.locator(".finished")).to_be_visible()
    expect(page.locator(".dot-done")).to_have_count(len(data["steps"]))
    assert "{{" not in page.locator("#lesson").inner_text()
    choose_language(page, other)
    page.wait_for_url(re.compile(f"lang={other}"))
    read_finished_lesson(lesson(page), other)
