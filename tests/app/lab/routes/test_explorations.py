"""Searches of pages: begun, watched, ended; never in the page's own process."""

from __future__ import annotations

import dataclasses
import functools
import multiprocessing

import pytest

from app.lab.foundation.refusal import LabRefused
from app.lab.routes.exploration_routes import FIELDS, exploration_of
from app.lab.routes.explorations import Explorations
from app.lab.routes.search_process import TIME_MAX_S, SearchProcess
from app.picture.pages.search import SearchPhaseReport, WholeSearch
from engine.fields.field import read_fields
from engine.lab.explorer.plan import ExplorationRequest, make_plan
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.picture.schema_problems import schema_problems
from tests.support.waiting import wait_until

SCENARIO = load_scenario("two-consumers")
QUICK = ExplorationRequest(SCENARIO, without=("process-queue-lock",), max_stalls=1)
#: Takes minutes.
LONG = ExplorationRequest(SCENARIO, max_stalls=3)
ENDS = ("done", "cancelled", "failed")
PATIENCE_S = 240


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def explorations(clock):
    explorations = Explorations(functools.partial(SearchProcess, clock=clock))
    yield explorations
    explorations.close()
    assert [child for child in multiprocessing.active_children() if child.name == "glassmq explorer"] == []


def test_a_search_without_a_thread_leaves_no_process_and_is_no_search(explorations, monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as machine:
        machine.setattr("threading.Thread.start", refuse)
        with pytest.raises(RuntimeError):
            explorations.start("me", LONG)
    assert [child for child in multiprocessing.active_children() if child.name == "glassmq explorer"] == []
    identity = explorations.start("me", LONG)
    assert explorations.cancel("me", identity)["phase"] == "cancelled"


def state_when(explorations, identity, condition, owner="me"):
    """Return the first state of a search for which ``condition`` holds; it is polled, as a page polls it."""
    return wait_until(
        lambda: state if condition(state := explorations.state(owner, identity)) else None,
        f"the state of search {identity} that the test needs",
        PATIENCE_S,
        seen=lambda: explorations.state(owner, identity),
    )


def ended(browser, address):
    """Return the state of a search of a page after its end."""
    return wait_until(
        lambda: state if (state := browser.http.get(address).get_json())["phase"] in ENDS else None,
        f"the end of {address}",
        PATIENCE_S,
        seen=lambda: browser.http.get(address).get_json(),
    )


def test_a_search_says_how_far_it_has_come_and_what_it_found(explorations):
    identity = explorations.start("me", QUICK)
    state = state_when(explorations, identity, lambda state: state["phase"] in ENDS)
    assert state["phase"] == "done"
    assert state["schedules"] > 1
    assert state["search_seconds"] > 0
    (hold,) = state["finding"]["holds"]
    assert hold["actor"].startswith("C1/worker")
    assert hold["label"]["zh"] == "调用监听器"
    assert state["finding"]["violation"]["anomaly"] == "duplicate"
    assert state["finding"]["link"]
    assert list(schema_problems(state, WholeSearch)) == []


def test_a_search_that_finds_nothing_says_why_where_it_knows(explorations):
    identity = explorations.start("me", ExplorationRequest(SCENARIO, without=("message-queue-lock",), max_stalls=0))
    state = state_when(explorations, identity, lambda state: state["phase"] in ENDS)
    assert state["finding"] is None
    assert state["is_complete"]
    assert (state["from_us"], state["to_us"]) == (400_000, 5_400_000)
    assert "consuming" in state["why"]["zh"]
    assert list(schema_problems(state, WholeSearch)) == []


def test_a_search_can_be_cancelled_and_makes_room_for_the_next(explorations):
    identity = explorations.start("me", LONG)
    state_when(explorations, identity, lambda state: state["schedules"] > 0)
    with pytest.raises(LabRefused) as caught:
        explorations.start("me", QUICK)
    assert caught.value.reason == "too_many_searches"
    assert explorations.cancel("me", identity)["phase"] == "cancelled"
    assert explorations.state("me", identity)["phase"] == "cancelled"
    begun = explorations.state("me", explorations.start("me", QUICK))
    assert list(schema_problems(begun, WholeSearch | SearchPhaseReport)) == []


def test_a_server_runs_two_searches_at_most(explorations):
    for owner in ("one", "two"):
        explorations.start(owner, LONG)
    with pytest.raises(LabRefused) as caught:
        explorations.start("three", LONG)
    assert "2" in caught.value.text["en"]
    assert "2" in caught.value.text["zh"]


def test_a_search_that_nobody_asks_about_any_more_ends(explorations, clock):
    identity = explorations.start("me", LONG)
    state_when(explorations, identity, lambda state: state["schedules"] > 0)
    clock.now += 31
    thread = explorations._searches[identity].work.thread
    thread.join(30)
    assert not thread.is_alive()
    assert explorations.state("me", identity)["phase"] == "cancelled"


def test_a_search_ends_after_its_time_even_when_it_is_asked_about(explorations, clock):
    identity = explorations.start("me", LONG)
    state_when(explorations, identity, lambda state: state["schedules"] > 0)
    for _ in range(int(TIME_MAX_S) // 20):
        clock.now += 20
        explorations.state("me", identity)
    clock.now += 1
    assert state_when(explorations, identity, lambda state: state["phase"] in ENDS)["phase"] == "cancelled"


def test_the_oldest_searches_that_have_ended_are_forgotten(explorations, monkeypatch):
    monkeypatch.setattr("app.lab.routes.explorations.KEPT_MAX", 2)
    identities = []
    for _ in range(3):
        identities.append(explorations.start("me", QUICK))
        explorations.cancel("me", identities[-1])
    with pytest.raises(LabRefused):
        explorations.state("me", identities[0])
    assert explorations.state("me", identities[1])["phase"] in ENDS


def test_a_search_belongs_to_its_browser(explorations):
    identity = explorations.start("me", QUICK)
    for action in (explorations.state, explorations.cancel):
        with pytest.raises(LabRefused) as caught:
            action("somebody else", identity)
        assert caught.value.reason == "no_search"
    state_when(explorations, identity, lambda state: state["phase"] in ENDS)


def test_a_search_that_cannot_be_done_says_why_in_both_languages(explorations):
    request = ExplorationRequest(SCENARIO, forced_unlocks=((418, "C2", 1),))
    state = state_when(explorations, explorations.start("me", request), lambda state: state["phase"] in ENDS)
    assert state["phase"] == "failed"
    assert state["error"]["en"] == "C2 does not own queue 1 of Orders now"
    assert "不拥有" in state["error"]["zh"]


def test_a_process_that_dies_is_a_failed_search(explorations):
    identity = explorations.start("me", LONG)
    state_when(explorations, identity, lambda state: state["schedules"] > 0)
    explorations._searches[identity].work.worker.process.kill()
    assert state_when(explorations, identity, lambda state: state["phase"] in ENDS)["phase"] == "failed"


# --- over HTTP -----------------------------------------------------------------------------------------------------


@pytest.fixture
def browser(lab):
    browser = lab.browser()
    browser.open(scenario="two-consumers")
    yield browser
    lab.server.parts.explorations.close()


def begin(lab, browser, **fields):
    """The lab's thread is the test itself: it must serve while the request waits."""
    lab.host.ask = lambda work: work(lab.host.worlds)
    return browser.http.post("/api/lab/explorations", json={"world": browser.world, **fields})


def test_a_page_searches_its_own_world(lab, browser):
    answer = begin(lab, browser, without=["broker-lock"], max_stalls=0, hold_ms=[2000])
    assert answer.status_code == 201
    address = f"/api/lab/explorations/{answer.get_json()['id']}"
    state = ended(browser, address)
    assert state["finding"]["holds"] == []
    assert browser.http.delete(address).get_json()["phase"] == "done"
    browser.open(link=state["finding"]["link"], fresh=True)
    assert browser.view["commands"][0]["kind"] == "lock-switch"
    browser.control("run-until", on="time", time_us=5_000_000)
    assert browser.view["stopped_by"]["kind"] == "violation"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"without": ["no-lock"]}, "no-lock"),
        ({"max_stalls": 4}, "max_stalls"),
        ({"max_stalls": True}, "max_stalls"),
        ({"hold_ms": [0]}, "ms is 0"),
        ({"hold_ms": "2000"}, "hold_ms"),
        ({"forced_unlocks": [[1, "C1"]]}, "forced_unlocks"),
        ({"nonsense": 1}, "nonsense"),
        ({"max_crashes": 3}, "max_crashes"),
        ({"crash": ["B9"]}, "B9"),
        ({"max_losses": 3}, "max_losses"),
        ({"max_losses": 1, "lose": ["SEND"]}, "unknown frame name 'SEND'"),
        ({"lose": "SEND_MESSAGE_V2"}, "lose"),
        ({"restart_ms": [-1]}, "restart_ms"),
        ({"from_ms": 5_000, "to_ms": 4_000}, "from 5000 ms to 4000 ms"),
        ({"keeps_settings": 1}, "keeps_settings"),
    ],
)
def test_what_a_page_cannot_ask_for_is_refused_by_name(lab, browser, fields, problem):
    answer = begin(lab, browser, **fields)
    assert answer.status_code == 400
    assert problem in answer.get_json()["text"]["en"]


def plan_of(lab, browser, **fields):
    lab.host.ask = lambda work: work(lab.host.worlds)
    return browser.http.post("/api/lab/explorations/plan", json={"world": browser.world, **fields}).get_json()


def test_a_page_shows_what_a_search_would_do_before_it_begins(lab, browser):
    plan = plan_of(lab, browser)
    assert plan["is_order"]
    assert (plan["from_us"], plan["to_us"]) == (400_000, 9_400_000)
    assert (plan["max_stalls"], plan["max_crashes"]) == (2, 0)
    assert plan["clients"] == ["P1", "C1", "C2"]
    assert plan["max_losses"] == 0
    assert plan["frames"][:2] == ["SEND_MESSAGE_V2", "reply to SEND_MESSAGE_V2"]
    assert plan_of(lab, browser, lose=["PULL_MESSAGE"])["max_losses"] == 1
    assert "broker-lock" in plan["switches"]
    assert plan_of(lab, browser, from_ms=1_000, max_stalls=1)["to_us"] == 8_000_000
    assert "no lock 'x'" in plan_of(lab, browser, without=["x"])["problem"]["en"]


def request_of(run, **fields):
    return exploration_of(read_fields(FIELDS, fields), run)


def test_a_search_has_the_settings_changed_on_the_page_unless_they_are_excluded(lab, browser):
    assert plan_of(lab, browser)["settings"] == []
    browser.command("setting", "C1", name="pullBatchSize", value=7)
    for keeps_settings in (True, False):
        plan = plan_of(lab, browser, keeps_settings=keeps_settings)
        assert plan["settings"] == [{"node": "C1", "name": "pull_batch_size", "value": 7}]
    with LabRun(SCENARIO) as run:
        run.apply(Command("setting", "C1", {"name": "pullBatchSize", "value": 7}))
        assert request_of(run).settings == (("C1", "pull_batch_size", 7),)
        assert request_of(run, keeps_settings=False).settings == ()


LOCK_OFF = {"kind": "lock-switch", "target": "B1", "lock": "broker-lock", "on": False}


def test_a_search_has_the_locks_that_are_off_on_the_stage(lab, browser):
    browser.command("lock-switch", "B1", lock="broker-lock", on=False)
    plan = plan_of(lab, browser)
    assert (plan["off"], plan["switched"]) == (["broker-lock"], [LOCK_OFF])
    without = plan_of(lab, browser, keeps_settings=False)
    assert (without["off"], without["switched"]) == ([], [LOCK_OFF])
    state = ended(browser, f"/api/lab/explorations/{begin(lab, browser, max_stalls=0).get_json()['id']}")
    assert state["finding"]["violation"]["anomaly"] == "duplicate"
    browser.command("lock-switch", "B1", lock="broker-lock", on=True)
    assert plan_of(lab, browser)["switched"] == []


@pytest.mark.parametrize(
    ("commands", "without", "switched"),
    [
        ([("lock-switch", "", {"lock": "process-queue-lock", "on": False})], ("process-queue-lock",), []),
        ([("lock-switch", "C1", {"lock": "process-queue-lock", "on": False})], (), [0]),
        ([("group-lock", "B1", {"group": "shop", "on": False})], (), [0]),
        (
            [
                ("lock-switch", "", {"lock": "consuming-flag", "on": False}),
                ("lock-switch", "C2", {"lock": "consuming-flag", "on": True}),
            ],
            (),
            [("lock-switch", "C1", {"lock": "consuming-flag", "on": False})],
        ),
        ([("group-lock", "B1", {"group": "shop", "on": on}) for on in (False, True)], (), []),
    ],
)
def test_switches_of_the_page_are_those_of_the_search_node_by_node(commands, without, switched):
    with LabRun(SCENARIO) as run:
        run.run_to_time(1_000_000)
        for one in commands:
            run.apply(Command(*one))
        request = request_of(run)
        assert request.without == without
        assert request.switched == tuple(Command(*(commands[one] if one == 0 else one)) for one in switched)
        kept = [planned.command for planned in make_plan(request).setting.commands]
        assert [one for one in kept if one.target] == list(request.switched)
        assert request_of(run, keeps_settings=False).switched == ()


def test_a_switch_that_a_scenario_begins_without_is_on_in_the_search_once_it_is_on_on_the_stage():
    with LabRun(dataclasses.replace(SCENARIO, switched_off=("broker-lock",))) as run:
        assert request_of(run).switched == ()
        run.apply(Command("lock-switch", "", {"lock": "broker-lock", "on": True}))
        assert request_of(run).switched == (Command("lock-switch", "B1", {"lock": "broker-lock", "on": True}),)


def test_a_search_for_money_says_who_died(lab):
    browser = lab.browser()
    browser.open(scenario="bank-naive")
    plan = plan_of(lab, browser)
    assert not plan["is_order"]
    assert plan["checkers"] == ["no-money-from-nowhere", "money-is-conserved"]
    assert plan["switches"] == ["idempotent-consumer"]
    answer = begin(lab, browser, max_stalls=0, crash=["producers"], restart_ms=[0])
    address = f"/api/lab/explorations/{answer.get_json()['id']}"
    state = ended(browser, address)
    lab.server.parts.explorations.close()
    (crash,) = state["finding"]["holds"]
    assert (crash["kind"], crash["ms"]) == ("crash", 0)
    assert "P1 dies here" in crash["caption"]["en"]


def test_a_search_for_lost_frames_says_which_one_was_lost(explorations):
    request = ExplorationRequest(
        load_scenario("bank-naive"), max_stalls=0, max_crashes=0, max_losses=1, lose=("reply to SEND_MESSAGE_V2",)
    )
    identity = explorations.start("me", request)
    state = state_when(explorations, identity, lambda state: state["phase"] in ENDS)
    assert state["max_losses"] == 1
    (loss,) = state["finding"]["holds"]
    assert (loss["kind"], loss["actor"], loss["label"]["en"]) == ("loss", "B1->P1", "reply to SEND_MESSAGE_V2")


def test_a_stranger_and_a_world_that_is_gone_are_refused(lab, browser):
    lab.host.ask = lambda work: work(lab.host.worlds)
    stranger = lab.server.app.test_client()
    assert stranger.post("/api/lab/explorations", json={"world": browser.world}).status_code == 400
    assert browser.http.post("/api/lab/explorations", json={"world": "nothing"}).status_code == 404
    assert browser.http.get("/api/lab/explorations/nothing").status_code == 404


def test_a_scenario_without_orderly_consumers_is_not_searched(lab):
    browser = lab.browser()
    browser.open(scenario="hello")
    answer = begin(lab, browser)
    assert answer.status_code == 400
    assert "顺序" in answer.get_json()["text"]["zh"]
