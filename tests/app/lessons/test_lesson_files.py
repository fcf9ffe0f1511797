"""Reading a lesson: what is in it, and what is said about one that is wrong."""

import dataclasses
import os

import pytest

from app.foundation.json_types import JsonObject
from app.lessons.errors import LessonError, UnknownLesson
from app.lessons.judge import judge
from app.lessons.lesson_files import lesson_names, load_lesson, read_lesson
from app.lessons.lesson_page import why_wrong_html
from app.lessons.rehearsal import rehearse
from app.web_application import WebSettings, create_app
from tests.app.lessons.lesson_folder import write_lesson
from tests.support.live.fixture_server import FixtureSource

EN, ZH, YAML = "lesson.en.md", "lesson.zh.md", "steps.yaml"


def test_a_lesson_is_read(tmp_path):
    lesson = read_lesson(write_lesson(tmp_path))
    assert lesson.name == lesson.scenario.name == "07-small"
    assert lesson.minutes == 5
    assert lesson.title() == {"en": "Small", "zh": "小"}
    assert [step.identity for step in lesson.steps] == ["first", "second", "third"]
    first = lesson.texts["en"].steps["first"]
    assert first.heading == "One"
    assert first.action == "Send"
    assert [hint.html({}) for hint in first.hints] == ["<p>Think.</p>"]
    assert first.after.html({"history": {"sent": [1]}}) == '<p>It is <span class="lesson-figure">1</span>.</p>'
    assert lesson.steps[0].actions == ({"control": "run-until", "on": "sent"},)
    assert lesson.steps[1].actions[0] == {"command": "pause-node", "target": "C1"}
    assert lesson.texts["zh"].summary.html({}) == "<p>结束。</p>"


def test_a_small_lesson_can_be_gone_through(tmp_path):
    assert rehearse(read_lesson(write_lesson(tmp_path))).problems() == []


def test_each_wrong_answer_gets_the_reason_why_it_is_wrong(tmp_path):
    place = write_lesson(
        tmp_path,
        (EN, "- no: No.", "- no: No.\n### Wrong\n- no: Sent."),
        (ZH, "- no: 否。", "- no: 否。\n### Wrong\n- no: 发了。"),
        (EN, "How many?", "How many?\n### Wrong\n- less: Fewer.\n- 9: Not {{ 4 + 5 }}.\n- 9000: Far.\n- more: More."),
        (ZH, "多少？", "多少？\n### Wrong\n- less: 太少。\n- 9: 不是 {{ 4 + 5 }}。\n- 9000: 差得远。\n- more: 太多。"),
    )
    lesson = read_lesson(place)
    first, second = rehearse(lesson).steps[:2]

    def why(rehearsed, answer):
        verdict = judge(rehearsed.step.prediction, answer, rehearsed.after)
        return why_wrong_html(lesson, rehearsed.step, answer, verdict, rehearsed.after)

    assert why(first, "no") == {"en": "Sent.", "zh": "发了。"}
    assert why(first, "yes") is None
    assert why(second, 0) == {"en": "Fewer.", "zh": "太少。"}
    assert why(second, 8) == {"en": "More.", "zh": "太多。"}
    assert why(second, 9)["en"] == 'Not <span class="lesson-figure">9</span>.'
    assert why(second, 9_000) == {"en": "Far.", "zh": "差得远。"}


def test_a_rehearsal_tells_what_a_learner_could_not_do(tmp_path):
    place = write_lesson(
        tmp_path,
        (YAML, "no: count(history.sent) = 0", "no: count(history.sent) > 0"),
        (YAML, "done_when: count(history.sent) >= 2", "done_when: count(history.sent) >= 1"),
    )
    problems = rehearse(read_lesson(place)).problems()
    assert len(problems) == 2
    assert problems[0].startswith("first: 2 right answers")
    assert problems[1] == "second: done_when is true before the action"
    late = write_lesson(tmp_path, (YAML, "done_when: count(history.sent) >= 2", "done_when: count(history.sent) >= 3"))
    assert rehearse(read_lesson(late)).problems() == ["second: done_when is false after the action"]


def test_a_rehearsal_tells_what_a_text_says_that_is_not_so(tmp_path):
    said = (
        "done_when: count(history.sent) >= 2\n    says: [count(history.sent) = 2, nodes.B1.topics.T.queues.0.max = {}]"
    )
    true = write_lesson(tmp_path, (YAML, "done_when: count(history.sent) >= 2", said.format(2)))
    assert rehearse(read_lesson(true)).problems() == []
    false = write_lesson(tmp_path, (YAML, "done_when: count(history.sent) >= 2", said.format(3)))
    assert rehearse(read_lesson(false)).problems() == ["second: says[1] is false after the action"]
    wrong = write_lesson(tmp_path, (YAML, "done_when: count(history.sent) >= 2", said.format("(")))
    with pytest.raises(LessonError, match=r"steps\[1\]\.says: "):
        read_lesson(wrong)


def test_an_invariant_is_broken_on_purpose_or_not_at_all(tmp_path):
    twice = 'count: 3, every_ms: 1000, key: "k-{n}", body: "b", queue: 0'
    place = write_lesson(
        tmp_path,
        ("scenario.yaml", "topic: T}", "topic: T, orderly: true, listener: {duration_ms: 900}}"),
        ("scenario.yaml", twice, twice.replace("every_ms: 1000", "every_ms: 2000")),
        (YAML, "command: pause-node, target: C1", "command: forced-unlock, target: C1, queue_id: 0"),
        (YAML, "minutes: 5", "minutes: 6"),
        (YAML, "{control: run-until, on: sent}", "{control: run-until, on: consume-begins}"),
        (YAML, "on: sent, contains: k-1", "on: consume-begins, contains: k-0"),
        (YAML, "history.sent) >= 2", "history.begun) >= 2"),
    )
    lesson = read_lesson(place)
    assert rehearse(lesson).problems() == []
    second = dataclasses.replace(lesson.steps[1], breaks=("order-per-queue",))
    wanted = dataclasses.replace(lesson, steps=(lesson.steps[0], second))
    assert rehearse(wanted).problems() == ["second: it breaks [], not ['order-per-queue']"]
    switch: JsonObject = {"command": "lock-switch", "target": "C1", "lock": "message-queue-lock", "on": False}
    broken = dataclasses.replace(lesson.steps[1], actions=(switch, *lesson.steps[1].actions))
    unsaid = rehearse(dataclasses.replace(lesson, steps=(lesson.steps[0], broken))).problems()
    assert unsaid == ["second: it breaks ['one-consumption-per-queue'], not []"]


def test_an_unknown_lesson_is_refused_with_those_there_are():
    with pytest.raises(UnknownLesson, match="01-first-message"):
        load_lesson("../../etc")
    assert lesson_names() == sorted(lesson_names())


#: (file, what is replaced, by what, words that mark the line of the mistake in the broken text, words of the message)
MISTAKES = [
    (YAML, "minutes: 5", "minutes: 500", "minutes", ["'500'", "1 to 60"]),
    (YAML, "minutes: 5", "minute: 5", "", ["minutes", "missing"]),
    (YAML, "minutes: 5", "minutes: 5\nbegin_ms: -1", "begin_ms", ["'-1'", "0 to"]),
    (YAML, "id: second", "id: first", "id: first", ["occurs twice"]),
    (YAML, "point_at: [node B1]", "point_at: [node B7]", "B7", ["'B7'", "N1, B1, P1, C1"]),
    (YAML, "kind: choice", "kind: guess", "guess", ["'guess'", "choice, number, click"]),
    (YAML, "        no: count(history.sent) = 0\n", "", "", ["1 entries", "2 to 6"]),
    (YAML, "= 0", "= zero", "zero", ["'zero'", "nodes, history"]),
    (YAML, "control: run-until, on: sent}", "control: play}", "play", ["'play'", "run-until, step"]),
    (YAML, "on: sent}", "on: send}", "on: send}", ["'send'", "consumed"]),
    (YAML, "on: sent}", "on: sent, contain: x}", "contain: x", ["not allowed", "contains"]),
    (YAML, "pause-node, target: C1", "sleep-node, target: C1", "sleep", ["sleep-node", "pause-node"]),
    (YAML, "pause-node, target: C1", "setting, target: C1, name: x, value: 1", "setting", ["scenario"]),
    (YAML, "    done_when: count(history.sent) >= 2\n", "", "id: second", ["done_when", "missing"]),
    (YAML, "  - id: third", "  - id: third\n    done_when: event > 1", "id: third", ["action", "missing"]),
    (YAML, "unit: {en: messages, zh: 条}", "unit: {en: messages}", "unit", ["zh", "missing"]),
    (YAML, "  - id: third", "  - id: third\n    pointat: [node B1]", "pointat", ["not allowed", "point_at"]),
    (YAML, "  - id: third", "  - id: third\n    breaks: [order]", "breaks", ["'order'", "order-per-queue"]),
    (EN, "# Small", "Small", "Small", ["begins with '# '"]),
    (EN, "## first: One", "## First: One", "## First", ["<step id>: <heading>"]),
    (EN, "## second: Two", "## first: Two", "## first: Two", ["occurs twice"]),
    (EN, "## summary", "## the end", "## the end", ["last section", "summary"]),
    (EN, "The end.", "", "## summary", ["empty"]),
    (EN, "### Hint", "### Clue", "### Clue", ["Predict, Wrong, Do, Hint, After"]),
    (EN, "### After", "### Do", "### Do\nIt", ["up to 1"]),
    (EN, "Look.", "", "## first", ["no text"]),
    (EN, "Think.", "", "### Hint", ["empty"]),
    (EN, "Is it?", "", "", ["question is missing"]),
    (EN, "- yes: Yes.", "- Yes.", "- Yes.", ["<choice id>"]),
    (EN, "- yes: Yes.", "- no: Yes.", "- no: No.", ["occurs twice"]),
    (EN, "- yes: Yes.\n", "", "## first", ["no; steps.yaml has yes, no"]),
    (EN, "### Predict\nHow many?\n", "", "## second", ["no Predict, but steps.yaml has one"]),
    (EN, "Read.", "Read.\n### Predict\nWell?", "## third", ["has Predict, but steps.yaml has none"]),
    (EN, "### Do\nSend again\n", "", "## second", ["### Do"]),
    (EN, "Read.", "Read.\n### Do\nRead it", "## third", ["### Do"]),
    (EN, "{{ count(history.sent) }}", "{{ cont(history.sent) }}", "cont(", ["'cont'", "count"]),
    (EN, "- no: No.", "- no: No.\n### Wrong\n- maybe: No.", "## first", ["'maybe'", "yes, no"]),
    (EN, "- no: No.", "- no: No.\n### Wrong\nNo.", "", ["<choice id>"]),
    (ZH, "- no: 否。", "- no: 否。\n### Wrong\n- no: 唉。", "## first", ["other answers"]),
    (EN, "### Hint", "### Look\n- node C1: Look.\n### Hint", "## first", ["'node C1'", "allowed: node B1"]),
    (ZH, "- no: 否。", "- no: 否。\n### Look\n- node B1: 看。", "## first", ["other things"]),
    (EN, "How many?", "How many?\n### Wrong\n- few: No.", "## second", ["'few'", "less, more"]),
    (EN, "Again.", "Again.\n### Hint\n1\n### Hint\n2\n### Hint\n3\n### Hint\n4", "", ["up to 3"]),
    (EN, "## third: Three\nRead.\n", "", "", ["steps first, second;", "first, second, third"]),
    (ZH, "### Hint\n想想。\n", "", "## first", ["0 hints", "lesson.en.md has 1"]),
    (ZH, "### After\n是 {{ count(history.sent) }}。\n", "", "## first", ["one language only"]),
    (ZH, "{{ count(history.sent) }}", "一", "是 一", ["figures differ", "lesson.en.md"]),
    (ZH, "- no: 否。", "- nope: 否。", "## first", ["yes, nope; steps.yaml has yes, no"]),
    ("scenario.yaml", "role: broker", "role: baker", "baker", ["'baker'", "nodes.B1.role"]),
]


@pytest.mark.parametrize(("file", "old", "new", "where", "words"), MISTAKES)
def test_a_mistake_is_reported_with_file_line_and_what_is_allowed(tmp_path, file, old, new, where, words):
    place = write_lesson(tmp_path, (file, old, new))
    with pytest.raises(LessonError) as refused:
        read_lesson(place)
    error = refused.value
    assert error.file == f"07-small/{file}"
    text = (place / file).read_text(encoding="utf-8")
    if where:
        lines = where.count("\n") + 1
        start = text.rindex(where)
        first = text.count("\n", 0, start) + 1
        assert first <= error.line < first + lines + 1, str(error)
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize("file", [EN, ZH, YAML, "scenario.yaml"])
def test_a_file_that_is_missing_or_no_text_is_named(tmp_path, file):
    place = write_lesson(tmp_path)
    (place / file).write_bytes(b"\xff\xfe")
    with pytest.raises(LessonError, match=f"{file}.*UTF-8"):
        read_lesson(place)
    (place / file).unlink()
    with pytest.raises(LessonError, match=f"{file}.*No such file"):
        read_lesson(place)


def test_a_heading_within_code_is_code(tmp_path):
    place = write_lesson(tmp_path, (EN, "Read.", "Read.\n```\n## not a step\n```"))
    assert "## not a step" in read_lesson(place).texts["en"].steps["third"].body.html({})


@pytest.fixture
def own_lessons(tmp_path, monkeypatch):
    """A folder of tutorials of its own, with one lesson."""
    for module in ("engine.lab.scenario.scenario_files", "app.lessons.lesson_files", "app.lessons.course"):
        monkeypatch.setattr(f"{module}.tutorials_folder", lambda: tmp_path)
    return tmp_path


def test_an_author_sees_a_change_at_once(own_lessons):
    write_lesson(own_lessons)
    (own_lessons / "drafts").mkdir()
    assert lesson_names() == ["07-small"]
    lesson = load_lesson("07-small")
    assert load_lesson("07-small") is lesson
    place = write_lesson(own_lessons, (EN, "# Small", "# Smaller"))
    for path in place.iterdir():
        os.utime(path, ns=(0, 1))
    assert load_lesson("07-small").title()["en"] == "Smaller"


def test_a_broken_lesson_says_on_its_page_what_is_wrong_and_the_others_stay(own_lessons):
    write_lesson(own_lessons)
    (own_lessons / "07-small").rename(own_lessons / "06-whole")
    write_lesson(own_lessons, (YAML, "minutes: 5", "minutes: 500"))
    course = "tracks: [{id: own, title: {en: Own, zh: 自己的}, lessons: {06-whole: [], 07-small: []}}]"
    (own_lessons / "course.yaml").write_text(course, encoding="utf-8")
    server = create_app(FixtureSource(0), WebSettings(lab_has_thread=False))
    http = server.app.test_client()
    broken = http.get("/tutorials/07-small")
    assert broken.status_code == 500
    assert broken.text.startswith("07-small/steps.yaml, line 1: minutes: '500' is not allowed")
    assert 'href="/tutorials/06-whole"' in http.get("/tutorials").text
    assert 'href="/tutorials/07-small"' not in http.get("/tutorials").text
    assert http.get("/tutorials/06-whole").status_code == 200
    server.lab.stop()
