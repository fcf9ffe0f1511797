"""Progress as a file: what one browser saves another one loads, and a file that is wrong says where."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lab.foundation.bounds import IMPORT_MAX_BYTES, NAME_MAX
from app.lessons.lesson_files import lesson_names, load_lesson
from app.lessons.progress import DoneStep, LearnerProgress, LessonStepDone
from app.lessons.progress_file import FORMAT, STEPS_MAX, progress_file, read_progress_file
from app.web_application import create_app
from engine.fields.refusal import FieldRefused
from tests.support.live.fixture_server import FixtureSource

ROW = {"lesson": "04-three-locks", "step": "broker-lock", "done_at": 1.5, "prediction": "two", "right": True}

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ROW, "format"]), inner, max_size=6),
    max_leaves=10,
)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=NAME_MAX)
steps = st.builds(
    LessonStepDone,
    names,
    st.floats(0, 10**11),
    st.builds(DoneStep, names, st.just("") | names, st.none() | st.booleans()),
)


@pytest.fixture
def server():
    server = create_app(FixtureSource(0))
    yield server
    server.stop()


def browser(server):
    """A new browser, which has opened the list."""
    http = server.app.test_client()
    http.get("/tutorials")
    return http


@given(st.lists(steps, max_size=5))
def test_what_is_written_is_read_again(done):
    assert read_progress_file(json.loads(json.dumps(progress_file(done)))) == done


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("steps[0].lesson", {"lesson": 4}),
        ("steps[0].lesson", {"lesson": "x" * (NAME_MAX + 1)}),
        ("steps[0].step", {"step": None}),
        ("steps[0].prediction", {"prediction": ["two"]}),
        ("steps[0].done_at", {"done_at": "now"}),
        ("steps[0].done_at", {"done_at": True}),
        ("steps[0].done_at", {"done_at": -1}),
        ("steps[0].done_at", {"done_at": float("nan")}),
        ("steps[0].done_at", {"done_at": 10**400}),
        ("steps[0].right", {"right": 1}),
    ],
)
def test_a_wrong_value_is_named_by_its_place(path, change):
    with pytest.raises(FieldRefused) as refused:
        read_progress_file({"format": FORMAT, "steps": [{**ROW, **change}]})
    assert refused.value.path == path


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"format": "glassmq-run", "steps": []},
        {"format": FORMAT},
        {"format": FORMAT, "steps": {}},
        {"format": FORMAT, "steps": [None]},
        {"format": FORMAT, "steps": [ROW] * (STEPS_MAX + 1)},
    ],
)
def test_another_file_is_refused(data):
    with pytest.raises(FieldRefused):
        read_progress_file(data)


@given(any_json)
def test_any_json_is_read_or_refused(data):
    for given_data in (data, {"format": FORMAT, "steps": data}, {"format": FORMAT, "steps": [data]}):
        with contextlib.suppress(FieldRefused):
            read_progress_file(given_data)


def test_all_steps_of_all_lessons_fit_into_a_file():
    names = [(name, step.identity) for name in lesson_names() for step in load_lesson(name).steps]
    assert len(names) <= STEPS_MAX / 2
    done = [LessonStepDone(name, 1e9 + 0.123456, DoneStep(step, "x" * 20, True)) for name, step in names]
    assert len(json.dumps(progress_file(done))) < IMPORT_MAX_BYTES / 2


def test_progress_goes_from_one_browser_to_another_and_adds_to_what_is_there(server):
    first, second = browser(server), browser(server)
    identities = [step.identity for step in load_lesson("04-three-locks").steps[:3]]
    one = {"format": FORMAT, "steps": [{**ROW, "step": identity} for identity in identities[:2]]}
    assert first.post("/api/lessons/progress", json=one).get_json() == {"taken": 2, "unknown": 0}
    own = {"format": FORMAT, "steps": [{**ROW, "step": identity} for identity in identities[1:]]}
    second.post("/api/lessons/progress", json=own)
    saved = first.get("/api/lessons/progress")
    assert "glassmq-lessons.json" in saved.headers["Content-Disposition"]
    assert second.post("/api/lessons/progress", json=saved.get_json()).get_json()["taken"] == 2
    merged = second.get("/api/lessons/progress").get_json()["steps"]
    assert {row["step"] for row in merged} == set(identities)
    assert all(row["done_at"] == 1.5 and row["right"] is True for row in merged)


def test_steps_that_this_version_does_not_have_are_counted(server):
    http = browser(server)
    rows = [{**ROW, "lesson": "99-of-the-future"}, {**ROW, "step": "of-the-future"}]
    answer = http.post("/api/lessons/progress", json={"format": FORMAT, "steps": rows})
    assert answer.get_json() == {"taken": 0, "unknown": 2}
    assert http.get("/api/lessons/progress").get_json()["steps"] == []


def test_a_browser_without_an_identity_has_no_progress(server):
    http = server.app.test_client()
    assert http.get("/api/lessons/progress").get_json()["steps"] == []
    assert http.post("/api/lessons/progress", json={"format": FORMAT, "steps": []}).status_code == 400


def test_all_done_steps_come_in_the_order_in_which_they_were_done():
    progress = LearnerProgress(None, clock=iter(range(10)).__next__)
    progress.note("me", "02-b", DoneStep("one"))
    progress.note("me", "01-a", DoneStep("one", "4", was_right=False))
    progress.note("you", "01-a", DoneStep("two"))
    assert progress.all_done("me") == [
        LessonStepDone("02-b", 0, DoneStep("one")),
        LessonStepDone("01-a", 1, DoneStep("one", "4", was_right=False)),
    ]
