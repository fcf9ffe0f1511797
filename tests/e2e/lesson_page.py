"""Goes through lessons in the browser as a learner does."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.e2e.lab.lab_page import opened


def lesson(page: Page) -> Page:
    """Wait until the lesson and its world are there."""
    opened(page)
    page.locator("#lesson-heading").wait_for()
    return page


def lesson_data(page: Page) -> dict:
    """What the server wrote into the page."""
    return page.evaluate("JSON.parse(document.getElementById('lesson-data').textContent)")


def go_to(page: Page, number: int) -> None:
    """Open step ``number``, counted from 1."""
    dot = page.locator(".dots button").nth(number)
    dot.click()
    expect(dot).to_have_attribute("aria-current", "step")


def found_targets(page: Page, targets: list[str]) -> list[str]:
    """Those of ``targets`` that stand on the page now."""
    return page.evaluate(
        "async (targets) => { const { elementOf, reveal } = await import('/static/lessons/targets.js');"
        " targets.forEach(reveal); await new Promise(requestAnimationFrame);"
        " return targets.filter((target) => elementOf(target) !== null); }",
        targets,
    )


def predict(page: Page, question: dict) -> None:
    """Give some answer: the first choice, the number 1, or the first thing, clicked on the stage."""
    expect(page.locator("#do-it")).to_be_disabled()
    if question["kind"] == "choice":
        page.locator(".predict-card .choice-row").first.click()
    elif question["kind"] == "number":
        page.locator("#predict-number").fill("1")
    else:
        page.locator("#stage .is-pickable").first.click(position={"x": 20, "y": 20})
    page.locator("#predict").click()
    expect(page.locator(".predict-given strong")).not_to_be_empty()


def do_it(page: Page) -> Locator:
    """Press the step's button and wait for the result.

    ``wait_for`` where something takes its time: while an ``expect`` is not yet met, Playwright describes the page again
    at every poll, which is a quarter of what the page's process then computes.
    """
    page.locator("#do-it").click()
    page.locator("#result").wait_for()
    return page.locator("#result")


def take_step(page: Page, step: dict) -> None:
    """The open step from its question to its result."""
    if not step["action"]:
        return
    if step["predict"]:
        predict(page, step["predict"])
    result = do_it(page)
    if step["predict"]:
        expect(result.locator(".judgement-right, .judgement-wrong")).to_be_visible()


def link_of_world(page: Page) -> str:
    """The link to the world as it stands: the same link is the same world."""
    return page.evaluate("async () => (await import('/static/common/world/view.js')).view.peek().link")


def is_in_world(page: Page, link: str) -> bool:
    """Whether the world as it stands is that of ``link``."""
    return link_of_world(page) == link


def read_finished_lesson(page: Page, language: str) -> None:
    """Open every page of a lesson that is done: what it asked, said and explained shows in this language."""
    data = lesson_data(page)
    expect(page.locator(".finished")).to_be_visible()
    expect(page.locator("#lesson .lesson-text")).to_have_text(plain_text(page, data["summary_html"][language]))
    for number, step in enumerate(data["steps"], 1):
        go_to(page, number)
        expect(page.locator("#lesson-heading")).to_have_text(step["heading"][language])
        expect(page.locator(".lesson-text").first).to_have_text(plain_text(page, step["html"][language]))
        if step["after_html"]:
            expect(page.locator("#result .lesson-text")).to_have_text(plain_text(page, step["after_html"][language]))
        if step["action"]:
            page.locator("#do-again").click()
            expect(page.locator("#do-it")).to_contain_text(step["action_name"][language])
        if step["action"] and step["predict"]:
            expect(page.locator(".lesson-question")).to_have_text(
                plain_text(page, step["predict"]["question"][language])
            )
        assert "{{" not in page.locator("#lesson").inner_text()


def plain_text(page: Page, html: str) -> str:
    """What a reader sees of a lesson's HTML."""
    return page.evaluate(
        "html => { const box = document.createElement('div'); box.innerHTML = html; return box.textContent }", html
    )
