"""Every step of every lesson is carried out, and all that its texts say comes from the engine."""

import dataclasses
import re
from collections import Counter

import pytest

from app.lab.views.world_view import WorldView
from app.lessons.course import load_course
from app.lessons.expression import figure_text
from app.lessons.judge import judge, right_answers
from app.lessons.lesson import LESS, ChoicePrediction, ClickPrediction, NumberPrediction
from app.lessons.lesson_files import lesson_names, load_lesson
from app.lessons.lesson_page import lesson_data
from app.lessons.lesson_view import lesson_view
from app.lessons.rehearsal import perform, rehearse, rehearse_once
from app.picture.pages.lesson import Answer
from engine.broker.foundation.broker_config import BrokerConfig
from engine.client.foundation.client_config import ClientConfig
from engine.client.producer.producer_config import ProducerConfig
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.idempotence.foundation.record import DEFAULT_EXPIRY_MS
from engine.idempotence.idempotence_config import STRATEGIES
from engine.idempotence.loss_detection import judge as judge_of_losses
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.replication.replication_config import ControllerConfig, ReplicationConfig
from engine.lab.nodes import loss_watch
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.kinds.node_spec import System
from engine.lab.scenario.scenario import LANGUAGES
from engine.lab.work.store_clients import STORE_TIMEOUT_MS
from engine.store.files.consume_queue_entry import ENTRY_SIZE_BYTES
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from tests.app.lessons.test_lesson_facts import as_read
from tests.app.lessons.test_prose import missing_figures

#: How often a learner may have to press play until a step is done.
PRESSES_MAX = 4
#: How often the right choice may stand out by its length.
STANDS_OUT_MAX = 0.4
#: How often 2 may be the right number: "it happens twice" must not become a reflex.
TWO_MAX = 0.1


def rehearsal_of(name):
    return rehearse_once(load_lesson(name))


every_lesson = pytest.mark.parametrize("name", lesson_names())
#: Of each track one; of the others the worlds are played again by `make test-rest`.
QUICK = ("04-three-locks", "07-half-messages", "19-idempotence-five-ways", "22-commit-log-and-partition-log")
some_lessons_quickly = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in lesson_names()]
)


def test_the_first_two_lessons_are_there():
    assert lesson_names()[:2] == ["01-first-message", "02-groups-and-rebalance"]


@every_lesson
def test_every_step_is_undone_before_its_action_and_done_after_it_with_one_right_answer(name):
    assert rehearsal_of(name).problems() == []


@every_lesson
def test_the_stage_names_what_it_is_about_and_what_the_first_step_speaks_of_runs(name):
    lesson = load_lesson(name)
    # The cards of a Raft group have no parts that fold.
    assert lesson.scenario.focus or all(node.system is System.RAFT for node in lesson.scenario.nodes)
    running = [node for node in rehearsal_of(name).steps[0].before["nodes"].values() if node["status"] == "running"]
    assert running or name == "01-first-message"  # its first step says that nothing runs yet


def places_of_right_answers(name):
    """(number of answers, place of the right one) of every choice of a lesson, as a page shows them."""
    rehearsal = rehearsal_of(name)
    data = lesson_data(load_lesson(name), rehearsal, {}, load_course())
    for rehearsed, shown in zip(rehearsal.steps, data["steps"], strict=True):
        if rehearsed.step.choices():
            identities = [choice["id"] for choice in shown["predict"]["choices"]]
            assert sorted(identities) == sorted(rehearsed.step.choices())
            (right,) = right_answers(rehearsed.step.prediction, rehearsed.after)
            yield len(identities), identities.index(right)


def test_no_place_among_the_answers_is_worth_a_guess():
    everywhere = Counter(place for name in lesson_names() for place in places_of_right_answers(name))
    assert sum(everywhere.values()) >= 72
    for (count, _), times in everywhere.items():
        of_all = sum(one for (like, _), one in everywhere.items() if like == count)
        assert abs(times - of_all / count) <= max(1, 0.2 * of_all / count)


@every_lesson
def test_in_one_lesson_the_right_answers_stand_in_every_place_equally_often(name):
    places = Counter(places_of_right_answers(name))
    for count in {count for count, _ in places}:
        times = [places[count, place] for place in range(count)]
        assert max(times) - min(times) <= 1, times


@some_lessons_quickly
def test_a_rehearsal_does_the_same_every_time(name):
    again = rehearse(load_lesson(name))
    assert again.end == rehearsal_of(name).end
    assert [step.link for step in again.steps] == [step.link for step in rehearsal_of(name).steps]


@every_lesson
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_figure_has_a_value_where_it_is_read(name, language):
    text = load_lesson(name).texts[language]
    assert missing_figures(text.intro, {}) == 0
    assert missing_figures(text.summary, rehearsal_of(name).end) == 0
    for rehearsed in rehearsal_of(name).steps:
        step = text.steps[rehearsed.step.identity]
        for prose in step.prose():
            assert missing_figures(prose, rehearsed.before) == 0, prose.place
        for prose in step.explanations():
            assert missing_figures(prose, rehearsed.after) == 0, prose.place


@every_lesson
def test_every_step_has_something_to_do_to_predict_and_to_explain(name):
    lesson = load_lesson(name)
    assert 6 <= len(lesson.steps) <= 9
    for step in lesson.steps:
        assert step.point_at, step.identity
        assert all(text.steps[step.identity].after is not None for text in lesson.texts.values()), step.identity
    assert sum(bool(step.actions) for step in lesson.steps) >= len(lesson.steps) - 1
    assert sum(step.prediction is not None for step in lesson.steps) >= len(lesson.steps) - 2


@every_lesson
def test_no_text_is_left_in_the_other_language(name):
    chinese = load_lesson(name).texts["zh"]
    for prose in chinese.prose():
        letters = "".join(prose.pieces)
        assert any("\u4e00" <= character <= "\u9fff" for character in letters), prose.place
    english = load_lesson(name).texts["en"]
    for prose in english.prose():
        assert not any("\u3000" <= character <= "\uffef" for character in "".join(prose.pieces)), prose.place


@some_lessons_quickly
def test_the_link_of_a_step_leads_to_where_it_begins_and_a_learner_who_goes_on_too_far_is_judged_the_same(name):
    """Both in one go: to get there takes longer than to look. Too far: some events further than the step's action."""
    for rehearsed in rehearsal_of(name).steps:
        with LabRun.replay(parse_link(rehearsed.link)) as run:
            view = lesson_view(WorldView(run).build(), run.world.history)
            assert view["event"] == rehearsed.before["event"]
            assert view["nodes"] == rehearsed.before["nodes"]
            for action in rehearsed.step.actions:
                perform(run, action)
            view = lesson_view(WorldView(run).build(), run.world.history)
            assert rehearsed.step.done_when is None or rehearsed.step.done_when.holds(view)
            assert view["nodes"] == rehearsed.after["nodes"]
            prediction = rehearsed.step.prediction
            for _ in range(0 if prediction is None else 3):
                run.step()
                view = lesson_view(WorldView(run).build(), run.world.history)
                assert rehearsed.step.done_when is None or rehearsed.step.done_when.holds(view)
                assert right_answers(prediction, view) == right_answers(prediction, rehearsed.after)


@some_lessons_quickly
def test_whoever_presses_play_instead_of_the_button_stops_where_the_step_is_done(name):
    breakpoints = load_lesson(name).scenario.breakpoints
    tried = 0
    for rehearsed in rehearsal_of(name).steps:
        *others, end = rehearsed.step.actions or ({},)
        if condition_of(end) not in breakpoints:
            continue  # what it waits for has no name of its own: nothing can stop there
        tried += 1
        with LabRun.replay(parse_link(rehearsed.link)) as run:
            for action in others:
                perform(run, action)
            assert presses_until_done(run, rehearsed.step) <= PRESSES_MAX
            view = lesson_view(WorldView(run).build(), run.world.history)
            if rehearsed.step.prediction is not None:
                expected = right_answers(rehearsed.step.prediction, rehearsed.after)
                assert right_answers(rehearsed.step.prediction, view) == expected
    assert tried >= len(rehearsal_of(name).steps) // 2


def condition_of(action):
    """What a run-until waits for; None for any other action."""
    if action.get("control") != "run-until":
        return None
    fields = {field: value for field, value in action.items() if field not in ("control", "on")}
    return Condition(ConditionKind(action["on"]), **fields)


def presses_until_done(run, step):
    for press in range(1, PRESSES_MAX + 2):
        run.stops_at_breakpoints = run.stops_at_violations = True
        run.run_to_time(run.world.end_us)
        if step.done_when.holds(lesson_view(WorldView(run).build(), run.world.history)):
            return press
        assert not run.is_over
    return PRESSES_MAX + 1


@every_lesson
def test_wrong_predictions_are_wrong_and_right_ones_right(name):
    for rehearsed in rehearsal_of(name).steps:
        prediction = rehearsed.step.prediction
        if prediction is None:
            continue
        (right,) = right_answers(prediction, rehearsed.after)
        assert judge(prediction, right, rehearsed.after).as_json() == {"right": True, "answer": right}
        others: list[Answer]
        if isinstance(prediction, ChoicePrediction):
            others = [choice for choice in prediction.choices if choice != right]
        elif isinstance(prediction, ClickPrediction):
            others = [str(target) for target in prediction.targets if str(target) != right]
        else:
            others = [float(right) + 1, float(right) - 1]
        for wrong in others:
            assert judge(prediction, wrong, rehearsed.after).as_json() == {"right": False, "answer": right}


@every_lesson
def test_a_right_answer_never_stands_among_the_wrong_ones(name):
    lesson = load_lesson(name)
    for rehearsed in rehearsal_of(name).steps:
        if rehearsed.step.prediction is not None:
            (right,) = right_answers(rehearsed.step.prediction, rehearsed.after)
            for text in lesson.texts.values():
                wrong = text.steps[rehearsed.step.identity].wrong
                assert figure_text(right).replace(",", "") not in wrong, rehearsed.step.identity


@every_lesson
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_result_of_a_number_question_names_the_right_number_by_an_expression(name, language):
    text = load_lesson(name).texts[language]
    for rehearsed in rehearsal_of(name).steps:
        if isinstance(rehearsed.step.prediction, NumberPrediction):
            (right,) = right_answers(rehearsed.step.prediction, rehearsed.after)
            figures = text.steps[rehearsed.step.identity].after.figures
            named = [figure_text(figure.value(rehearsed.after)) for figure in figures]
            assert figure_text(right) in named, rehearsed.step.identity


@every_lesson
def test_each_wrong_answer_has_an_explanation_of_its_own(name):
    lesson = load_lesson(name)
    for rehearsed in rehearsal_of(name).steps:
        step = rehearsed.step
        if step.prediction is None:
            continue
        wrong = [
            answer for answer in step.wrong_answers() if answer not in right_answers(step.prediction, rehearsed.after)
        ]
        if isinstance(step.prediction, NumberPrediction):
            wrong = [
                answer for answer in wrong if answer != LESS or right_answers(step.prediction, rehearsed.after) != (0,)
            ]
        for text in lesson.texts.values():
            assert set(wrong) <= set(text.steps[step.identity].wrong), step.identity
            reasons = ["".join(prose.pieces) for prose in text.steps[step.identity].wrong.values()]
            assert len(set(reasons)) == len(reasons)


def rehearsed_steps(name):
    """Those that ask something."""
    yield from (rehearsed for rehearsed in rehearsal_of(name).steps if rehearsed.step.prediction)


def lengths(name, language):
    """Return the length of the right answer of each choice of a lesson, and the lengths of the others."""
    text = load_lesson(name).texts[language]
    for rehearsed in rehearsed_steps(name):
        if isinstance(rehearsed.step.prediction, ChoicePrediction):
            (right,) = right_answers(rehearsed.step.prediction, rehearsed.after)
            choices = text.steps[rehearsed.step.identity].choices
            length = {choice: len("".join(as_read(prose).split())) for choice, prose in choices.items()}
            right_length = length.pop(str(right))
            yield right_length, list(length.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_right_choice_is_seldom_the_shortest_or_the_longest(language):
    choices = [choice for name in lesson_names() for choice in lengths(name, language)]
    shortest = sum(right < min(others) for right, others in choices)
    longest = sum(right > max(others) for right, others in choices)
    assert shortest <= STANDS_OUT_MAX * len(choices)
    assert longest <= STANDS_OUT_MAX * len(choices)


def test_two_is_seldom_the_right_number():
    numbers = [
        right_answers(rehearsed.step.prediction, rehearsed.after)
        for name in lesson_names()
        for rehearsed in rehearsed_steps(name)
        if isinstance(rehearsed.step.prediction, NumberPrediction)
    ]
    assert numbers.count((2,)) <= TWO_MAX * len(numbers)


@every_lesson
def test_no_answer_is_right_already_when_it_is_asked_for(name):
    for rehearsed in rehearsed_steps(name):
        before, after = (right_answers(rehearsed.step.prediction, view) for view in (rehearsed.before, rehearsed.after))
        assert before != after, rehearsed.step.identity


#: Those that were written before these rules are not held to them.
young_lessons = pytest.mark.parametrize("name", [name for name in lesson_names() if name[:2] >= "17"])


@young_lessons
def test_at_least_a_third_of_the_predictions_cannot_be_guessed_from_a_list(name):
    predictions = [step.prediction for step in load_lesson(name).steps if step.prediction is not None]
    assert sum(not isinstance(one, ChoicePrediction) for one in predictions) * 3 >= len(predictions)


@young_lessons
def test_a_lesson_is_short(name):
    pages = {language: plain(load_lesson(name).texts[language]) for language in LANGUAGES}
    assert len(pages["en"].split()) <= 1_200
    assert sum("\u4e00" <= character <= "\u9fff" for character in pages["zh"]) <= 2_000


#: "(overview B12)": which row of which article a box is about.
ARTICLE_ROW = re.compile(r'[(（]<a href="/tutorials/articles/[^"]*">[^<]*</a>[)）][:：]?')


def plain(text):
    """All that one reads in a lesson, without the references to articles."""
    headings = [text.title, *(step.heading + " " + step.action for step in text.steps.values())]
    pieces = (ARTICLE_ROW.sub("", " 0 ".join(prose.pieces)) for prose in text.prose())
    return " ".join([*headings, *(re.sub("<[^>]*>", " ", piece) for piece in pieces)])


@young_lessons
def test_where_the_article_is_wrong_a_box_says_so(name):
    for language, said in (("en", ("The article says", "The engine says")), ("zh", ("文章说", "引擎说"))):
        boxes = [piece for prose in load_lesson(name).texts[language].prose() for piece in prose.pieces]
        assert "lesson-box" in "".join(boxes)
        assert all(words in "".join(boxes) for words in said)


def test_the_defaults_that_the_lessons_tell_are_the_engine_s():
    consumer = PushConsumerConfig()
    assert consumer.broker_suspend_max_time_ms == 15_000
    assert consumer.pull_batch_size == 32
    client = {field.name: field.default for field in dataclasses.fields(ClientConfig)}
    assert client["poll_name_server_interval_ms"] == 30_000
    assert client["persist_consumer_offset_interval_ms"] == 5_000
    assert client["heartbeat_broker_interval_ms"] == 30_000
    assert client["rebalance_interval_ms"] == 20_000
    assert MessageStoreConfig().flush_disk_type is FlushDiskType.ASYNC_FLUSH
    assert ENTRY_SIZE_BYTES == 20
    assert consumer.max_reconsume_times_orderly > 1_000_000
    assert consumer.max_reconsume_times_or_default == 16
    assert consumer.suspend_current_queue_time_ms == 1_000
    assert consumer.max_time_consume_continuously_ms == 60_000
    assert consumer.consume_lock_wait_ms == 1_000
    assert consumer.unlock_delay_ms == consumer.rebalance_lock_interval_ms == 20_000
    assert consumer.lock_max_live_time_ms == 30_000
    assert consumer.pull_max_idle_time_ms == 120_000
    ((lock, *_),) = (
        locks.values() for locks in rehearsal_of("05-leases-and-long-pauses").end["nodes"]["B1"]["locks"].values()
    )
    assert lock["lease_ms"] == 60_000
    settings = {entry["name"]: entry["value"] for entry in rehearsal_of("02-groups-and-rebalance").end["settings"]}
    assert settings == {name: client[name] for name in settings}


def test_what_the_lessons_tell_of_idempotence_are_the_engine_s_defaults():
    assert DEFAULT_EXPIRY_MS == 600_000
    assert (judge_of_losses.SETTLING_MS, loss_watch.SETTLING_MS) == (30_000, 2_000)
    assert STORE_TIMEOUT_MS == 5_000
    assert len(STRATEGIES) == 11


def test_what_the_lessons_tell_of_transactions_are_the_engine_s_defaults():
    broker = BrokerConfig()
    assert broker.transaction_time_out_ms == 6_000
    assert broker.transaction_check_interval_ms == 60_000
    assert broker.transaction_check_max == 15
    assert MessageStoreConfig().file_reserved_time_hours == 72
    assert MessageStoreConfig().clean_resource_interval_ms == 10_000
    checks = rehearsal_of("09-check-back").end["nodes"]["B1"]["transactions"]
    assert (checks["time_out_ms"], checks["check_interval_ms"], checks["check_max"]) == (20_000, 10_000, 5)


def test_what_the_lessons_tell_of_replication_are_the_engine_s_defaults():
    sends = {field.name: field.default for field in dataclasses.fields(ProducerConfig)}
    assert BrokerConfig().slave_timeout_ms == sends["send_msg_timeout_ms"] == 3_000


def test_what_the_lesson_on_in_sync_replicas_tells_are_the_engine_s_defaults():
    broker, controller = ReplicationConfig(), ControllerConfig()
    assert KafkaProducerConfig("K1:9092").acks == -1
    assert broker.min_insync_replicas == 1
    assert broker.replica_lag_time_max_ms == 30_000
    assert broker.replica_fetch_wait_max_ms == 500
    assert broker.replica_high_watermark_checkpoint_interval_ms == 5_000
    assert controller.broker_session_timeout_ms == 9_000
    assert not controller.unclean_leader_election_enable
