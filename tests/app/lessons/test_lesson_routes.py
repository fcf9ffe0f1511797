"""The pages of lessons, the check of a step, and the progress, as a browser sees them."""

import json
import re

import pytest

from app.lessons.check import read_check
from app.lessons.course import load_course
from app.lessons.lesson_files import lesson_names, load_lesson
from app.lessons.progress import DoneStep
from app.web_application import WebSettings, create_app
from tests.app.lessons.conftest import Learner
from tests.support.live.fixture_server import FixtureSource


def lesson_data(http, name, language="en"):
    page = http.get(f"/tutorials/{name}?lang={language}")
    assert page.status_code == 200
    return json.loads(re.search(r'id="lesson-data"[^>]*>(.*?)</script>', page.text, re.DOTALL)[1])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_and_every_lesson_are_served_in_both_languages(lab, language):
    http = lab.server.app.test_client()
    page = http.get(f"/tutorials?lang={language}").text
    assert [name for name in lesson_names() if f'href="/tutorials/{name}"' in page] == lesson_names()
    for name in lesson_names():
        data = lesson_data(http, name, language)
        assert data["title"][language] in page
        assert data["name"] == data["scenario"] == name


@pytest.mark.parametrize("name", ["nothing-like-it", "..%2f..%2fetc", "scenarios", "01-first-message.yaml"])
def test_a_lesson_that_does_not_exist_is_a_404(lab, name):
    http = lab.server.app.test_client()
    assert http.get(f"/tutorials/{name}").status_code == 404
    http.get("/tutorials")
    for what in ("check", "reset"):
        assert http.post(f"/api/lessons/{name}/{what}", json={}).status_code == 404


def test_list_and_next_lesson_follow_the_course_and_show_what_a_lesson_builds_on(lab):
    http, course = lab.server.app.test_client(), load_course()
    page = http.get("/tutorials").text
    assert [track.identity for track in course.tracks] == re.findall('id="track-([a-z]+)"', page)
    assert re.findall('data-lesson="([^"]+)"', page) == course.names()
    assert '<a href="/tutorials/03-ordered-consumption">lesson 3</a>' in page
    first, second, third, *_ = course.names()
    data = lesson_data(http, second)
    assert (data["previous"], data["next"]) == (first, third)
    assert data["needs"] == [{"number": 1, "name": first}]
    assert lesson_data(http, first)["previous"] is None


OFFER = r'<p class="track-state">(.*?)</p>\s*<a class="[^"]*" href="/tutorials/(.*?)">(.*?)</a>'


def test_each_track_has_a_picture_and_offers_its_first_lesson_that_is_not_finished():
    course = load_course()
    basics, order = course.tracks[0].lessons, course.tracks[1].lessons
    server = create_app(FixtureSource(0), WebSettings(lab_has_thread=False))
    http = server.app.test_client()
    http.set_cookie("glassmq_browser", "a" * 22)

    def finish(name, steps=None):
        for step in load_lesson(name).steps[:steps]:
            server.parts.progress.note("a" * 22, name, DoneStep(step.identity))

    def offer_of_basics():
        offers = re.findall(OFFER, http.get("/tutorials?lang=en").text)
        assert len(offers) == len(course.tracks)
        return offers[0]

    n = len(basics)
    assert offer_of_basics() == (f"0 of {n} finished", basics[0], "Begin with lesson 1")
    finish(basics[0], steps=1)
    assert offer_of_basics() == (f"0 of {n} finished", basics[0], "Continue with lesson 1")
    finish(basics[0])
    finish(order[0])
    assert offer_of_basics() == (f"1 of {n} finished", basics[1], "Continue with lesson 2")
    for name in basics:
        finish(name)
    assert offer_of_basics() == (f"{n} of {n} finished", basics[0], "Open lesson 1 again")
    page = http.get("/tutorials").text
    for name in course.first_lessons():
        assert f'class="in-light" src="/static/lab/pictures/lessons/{name}.webp"' in page
        assert f'class="in-dark" src="/static/lab/pictures/lessons/{name}.dark.webp"' in page
    server.parts.progress.close()
    server.lab.stop()


def test_a_lesson_s_scenario_is_no_preset_of_the_lab_but_can_be_opened_there(lab):
    http = lab.server.app.test_client()
    assert "01-first-message" not in http.get("/lab").text
    assert http.get("/lab/01-first-message").status_code == 200


@pytest.mark.parametrize("name", lesson_names())
def test_the_page_has_every_text_in_both_languages_and_no_answer(lab, name):
    data = lesson_data(lab.server.app.test_client(), name)
    for step in data["steps"]:
        texts = [step["heading"], step["html"], step["action_name"], *step["hints"], data["summary_html"]]
        if step["predict"]:
            texts += [step["predict"]["question"], *(choice["text"] for choice in step["predict"]["choices"])]
        for text in texts:
            assert set(text) == {"en", "zh"}
            assert all(text.values())
            assert "{{" not in text["en"] + text["zh"]
        assert step["after_html"] is None
        assert set(step) == {
            "id", "heading", "html", "after_html", "point_at", "look_for", "predict", "hints",
            "action", "action_name", "start_link",
        }  # fmt: skip
        assert step["predict"] is None or set(step["predict"]) == {"kind", "question", "choices", "targets", "unit"}


#: The shortest that have all kinds of steps between them; the others are walked through by `make test-rest`.
WALKED_QUICKLY = ("01-first-message", "07-half-messages")
LESSONS_WALKED = [
    name if name in WALKED_QUICKLY else pytest.param(name, marks=pytest.mark.thorough) for name in lesson_names()
]


@pytest.mark.parametrize("name", LESSONS_WALKED)
def test_a_learner_goes_through_the_whole_lesson(lab, name):
    learner = Learner(lab, name)
    data = lesson_data(learner.http, name)
    for number, step in enumerate(data["steps"]):
        before = learner.check(step["id"]).get_json()
        assert not before["done"]
        assert before["prediction"] is None
        assert before["progress"] == [done["id"] for done in data["steps"][:number]]
        learner.do(step["action"])
        predicted = learner.check(step["id"], prediction=any_answer(step)).get_json()
        assert predicted["done"]
        assert predicted["after_html"]["zh"]
        answer = predicted["prediction"]["answer"]
        assert learner.check(step["id"], prediction=answer).get_json()["prediction"] == {
            "right": True,
            "answer": answer,
        }
        # Whatever was predicted first is remembered.
        assert predicted["predictions"][step["id"]]["prediction"] == str(any_answer(step))
    again = lesson_data(learner.http, name)
    assert again["progress"] == [step["id"] for step in data["steps"]]
    assert all(step["after_html"]["en"] for step in again["steps"])
    page = learner.http.get("/tutorials").text
    assert re.search(rf'is-finished" data-lesson="{name}"', page)


def any_answer(step):
    predict = step["predict"]
    match predict["kind"]:
        case "choice":
            return predict["choices"][0]["id"]
        case "click":
            return predict["targets"][0]
    return 1


@pytest.mark.parametrize("name", LESSONS_WALKED)
def test_the_link_of_a_step_opens_the_world_as_the_step_finds_it(lab, name):
    """One from the middle: where each link leads is looked at without a server, in test_every_lesson.py."""
    learner = Learner(lab, name)
    step = lesson_data(learner.http, name)["steps"][3]
    learner.page.open(link=step["start_link"])
    learner.page.receive()
    assert not learner.check(step["id"]).get_json()["done"]
    learner.do(step["action"])
    assert learner.check(step["id"]).get_json()["done"]


def test_the_figures_of_a_text_are_those_of_the_world_as_it_is_looked_at(lab, learner):
    data = lesson_data(learner.http, learner.name)
    for step in data["steps"][:3]:
        learner.do(step["action"])
    assert "191" in learner.check("behind").get_json()["after_html"]["en"]
    learner.page.control("scrub", event=20)
    looked_back = learner.check("behind").get_json()
    assert not looked_back["done"]
    assert looked_back["was_done"]
    assert "191" in looked_back["after_html"]["en"], "what was done once keeps the figures of the rehearsal"


def test_progress_belongs_to_the_browser_and_can_be_forgotten(lab, learner):
    learner.do(lesson_data(learner.http, learner.name)["steps"][0]["action"])
    assert learner.check("route").get_json()["progress"] == ["route"]
    stranger = lab.server.app.test_client()
    assert lesson_data(stranger, learner.name)["progress"] == []
    stranger.post(f"/api/lessons/{learner.name}/reset")
    assert lesson_data(learner.http, learner.name)["progress"] == ["route"]
    assert learner.http.post(f"/api/lessons/{learner.name}/reset").get_json()["progress"] == []
    assert lesson_data(learner.http, learner.name)["progress"] == []


def test_progress_survives_a_restart_of_the_server(tmp_path):
    progress = []
    for _ in range(2):
        server = create_app(FixtureSource(0), WebSettings(lab_has_thread=False, data_folder=tmp_path))
        http = server.app.test_client()
        http.set_cookie("glassmq_browser", "a" * 22)
        progress.append(lesson_data(http, "01-first-message")["progress"])
        server.parts.progress.note("a" * 22, "01-first-message", DoneStep("route"))
        server.parts.progress.close()
        server.lab.stop()
    assert progress == [[], ["route"]]


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"world": "nothing"}, 404, "no_world"),
        ({"world": ""}, 400, "bad_request"),
        ({"world": 7}, 400, "bad_request"),
        ({"step": "nothing"}, 400, "bad_request"),
        ({"step": None}, 400, "bad_request"),
        ({"step": ["route"]}, 400, "bad_request"),
        ({"more": 1}, 400, "bad_request"),
        ({"prediction": 4}, 400, "bad_request"),
        ({"prediction": "x" * 100}, 400, "bad_request"),
        ({"step": "append", "prediction": "x"}, 400, "bad_request"),
        ({"step": "behind", "prediction": "191"}, 400, "bad_request"),
        ({"step": "behind", "prediction": True}, 400, "bad_request"),
    ],
)
def test_a_question_that_means_nothing_is_refused_in_both_languages(learner, change, status, reason):
    body = {"world": learner.page.world, "step": "route", **change}
    answer = learner.http.post(f"/api/lessons/{learner.name}/check", json=body)
    assert answer.status_code == status
    assert answer.get_json()["reason"] == reason
    assert answer.get_json()["text"]["zh"]


@pytest.mark.parametrize(
    ("step", "prediction", "answer"),
    [("behind", 191, 191), ("behind", 191.0, 191), ("behind", 1.5, 1.5), ("route", None, None)],
)
def test_a_number_is_judged_without_needless_decimals(step, prediction, answer):
    request = read_check({"world": "w", "step": step, "prediction": prediction}, load_lesson("01-first-message"))
    assert (request.step.identity, repr(request.prediction)) == (step, repr(answer))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b'{"world": NaN}', b'"' + b"x" * 70_000 + b'"'])
def test_what_is_no_json_object_is_refused(learner, body):
    answer = learner.http.post(f"/api/lessons/{learner.name}/check", data=body)
    assert answer.status_code in (400, 413)


def test_a_world_of_another_scenario_is_no_world_of_the_lesson(learner):
    learner.page.open(scenario="hello")
    answer = learner.check("route")
    assert answer.status_code == 400
    assert answer.get_json()["reason"] == "wrong_world"


def test_a_stranger_s_world_cannot_be_asked_about(lab, learner):
    stranger = lab.server.app.test_client()
    stranger.get("/tutorials")
    body = {"world": learner.page.world, "step": "route"}
    assert stranger.post(f"/api/lessons/{learner.name}/check", json=body).status_code == 404


def test_a_browser_without_a_cookie_is_refused(lab, learner):
    nobody = lab.server.app.test_client()
    body = {"world": learner.page.world, "step": "route"}
    answer = nobody.post(f"/api/lessons/{learner.name}/check", json=body)
    assert answer.status_code == 400
    assert answer.get_json()["reason"] == "not_open"
