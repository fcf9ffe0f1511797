"""The application of the site as its worker uses it: requests and events come as text and bytes."""

from __future__ import annotations

import json

import pytest

from app.lessons.lesson_files import load_lesson
from app.site.search_worker import report_search
from app.site.worker import SiteWorker


class Page:
    """A page: what the worker posts to it."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, dict]] = []
        self.searches: list[tuple[str, str, str]] = []
        self.worker = SiteWorker(self._post)

    def _post(self, to: str, event: str, message: str) -> None:
        if event.endswith("search"):
            self.searches.append((to, event, message))
        else:
            self.messages.append((event, json.loads(message)))

    def ask(self, method: str, address: str, body: object = None) -> tuple[int, dict]:
        data = b"" if body is None else json.dumps(body).encode()
        status, headers, answer = self.worker.request(method, address, "application/json", memoryview(data))
        assert json.loads(headers)["Content-Type"] == "application/json"
        return status, json.loads(answer)

    def emit(self, event: str, message: dict) -> None:
        self.worker.event("1", event, json.dumps(message))
        for _ in range(5):
            self.worker.work()

    def open(self, scenario: str) -> dict:
        self.worker.connect("1")
        self.emit("open", {"scenario": scenario})
        snapshot = next(message for event, message in self.messages if event == "snapshot")
        self.emit("acknowledge", {"sequence": snapshot["sequence"]})
        return snapshot


@pytest.fixture
def page():
    page = Page()
    yield page
    page.worker.application.close()


def test_a_world_opens_and_steps_by_events(page):
    snapshot = page.open("three-locks")
    assert snapshot["mine"]
    page.emit("control", {"action": "step"})
    event, patch = page.messages[-1]
    assert event == "patch" and patch["sequence"] == snapshot["sequence"] + 1


def test_requests_of_a_page_reach_its_own_world(page):
    world = page.open("three-locks")["world"]
    status, answer = page.ask("GET", f"/api/lab/{world}/journal?after=0&count=5")
    assert status == 200 and "entries" in answer
    status, answer = page.ask("GET", "/api/lab/none/journal?after=0&count=5")
    assert status == 404 and answer["reason"] == "no_world"


def test_a_step_of_a_lesson_is_checked(page):
    world = page.open("04-three-locks")["world"]
    [step, *_] = [step for step in load_lesson("04-three-locks").steps if step.actions]
    check = {"world": world, "step": step.identity}
    status, answer = page.ask("POST", "/api/lessons/04-three-locks/check", check)
    assert status == 200 and answer["done"] is False


def test_a_search_runs_in_a_worker_of_its_own_and_is_ended_there(page):
    asked = {"world": page.open("two-consumers")["world"], "without": ["process-queue-lock"], "max_stalls": 1}
    status, begun = page.ask("POST", "/api/lab/explorations", asked)
    assert status == 201
    [(search, event, order)] = page.searches
    assert event == "search"
    address = f"/api/lab/explorations/{begun['id']}"
    assert page.ask("GET", address)[1]["phase"] == "starting"
    states = []
    report_search(order, states.append)
    page.worker.search_reported(search, states[0])
    assert page.ask("GET", address)[1]["phase"] == "searching"
    page.worker.search_reported(search, states[-1])
    status, state = page.ask("GET", address)
    assert state["phase"] == "done" and state["finding"]["violation"]["anomaly"] == "duplicate"

    page.ask("POST", "/api/lab/explorations", asked)
    second, _, _ = page.searches[-1]
    assert second != search
    status, again = page.ask("POST", "/api/lab/explorations", asked)
    assert status == 503 and again["reason"] == "too_many_searches"
    page.worker.application.parts.explorations.close()
    assert page.searches[-1] == (second, "end-search", "")


@pytest.mark.parametrize(
    ("method", "address"),
    [("POST", "/api/lab/import"), ("GET", "/api/lab/any/export.html")],
)
def test_what_only_a_server_does_is_refused_in_both_languages(page, method, address):
    status, answer = page.ask(method, address, {})
    assert status == 501 and answer["reason"] == "needs_a_server"
    assert set(answer["text"]) == {"en", "zh"} and answer["text"]["en"] == answer["error"]
