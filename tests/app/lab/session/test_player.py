"""What takes many events goes on in slices, and what was wanted after it happens all the same."""

from __future__ import annotations

import dataclasses

import pytest

from app.foundation.viewer import WINDOW
from app.lab.session import player as player_module
from app.lab.session.pace import LAG_MAX_S, Pace
from engine.lab.run.recording import TimedCommand
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture
def browser(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    browser.control("run-until", on="time", time_us=6_000_000)
    assert browser.view["time_us"] == 6_000_000
    return browser


def session_of(lab, browser):
    return lab.host.worlds.sessions[browser.world]


def begin(lab, browser, event, payload):
    """Send without letting the lab work more than one slice; the session then has a job."""
    browser.emit(event, payload)
    lab.host.serve_once()
    return session_of(lab, browser)


@pytest.fixture
def short_slices(lab, monkeypatch):
    """A slice is over after one look at the clock."""
    ticks = iter(range(10_000_000))
    monkeypatch.setattr(lab.host.worlds, "_clock", lambda: lab.clock.now + next(ticks) * 0.004)


def finish(lab, browser):
    """Let the lab work until nothing is left to do; the page confirms what it gets."""
    while session_of(lab, browser).player.has_job:
        lab.serve(5)
        browser.receive()
    lab.clock.now += 1
    browser.send("resync")
    return browser.view


def test_run_until_a_moment_that_is_past_is_refused_by_name_and_changes_nothing(browser):
    event = browser.view["event"]
    for time_us in (0, 5_999_999, 6_000_000):
        browser.control("run-until", on="time", time_us=time_us)
    assert [refused["reason"] for refused in browser.refused] == ["time_past"] * 3
    assert "5.999999 s has already passed: it is 6 s" in browser.refused[1]["text"]["en"]
    assert "6 秒" in browser.refused[1]["text"]["zh"]
    assert (browser.view["event"], browser.view["in_past"]) == (event, False)
    # Seen from an earlier event it lies ahead, and what came after that event is forgotten.
    browser.control("scrub", event=100)
    browser.control("run-until", on="time", time_us=5_000_000)
    assert browser.view["time_us"] == 5_000_000


SETTING = {"kind": "setting", "target": "C1", "name": "pullBatchSize", "value": 1}


def test_a_changed_setting_is_brought_to_the_same_time_in_slices(lab, browser, short_slices):
    session = begin(lab, browser, "command", SETTING)
    assert session.player.has_job
    assert session.view(lab.clock.now)["busy"]["kind"] == "setting"
    old = session.player.run
    view = finish(lab, browser)
    assert session.player.run is not old
    assert view["busy"] is None
    assert view["time_us"] == 6_000_000
    assert view["commands"][0]["kind"] == "setting"
    assert view["forked_from"]
    with LabRun(old.scenario, old.seed, old.commands) as again:
        again.run_to_time(6_000_000)
        assert again.journal_hash != session.player.run.journal_hash, "the setting has changed what happens"


def test_a_world_that_is_played_while_a_setting_changes_stops_at_violations_as_any_other(lab, browser, short_slices):
    session = begin(lab, browser, "command", SETTING)
    old = session.player.run
    begin(lab, browser, "control", {"action": "play"})
    while session.player.has_job:
        lab.serve(5)
    run = session.player.run
    assert run is not old
    assert session.player.playing
    assert (run.stops_at_violations, run.stops_at_breakpoints) == (True, True)


def test_pause_gives_a_changed_setting_up(lab, browser, short_slices):
    session = begin(lab, browser, "command", SETTING)
    old = session.player.run
    browser.control("pause")
    assert not session.player.has_job
    assert session.player.run is old
    assert browser.view["commands"] == []


def test_what_is_done_while_a_setting_changes_is_refused_and_not_silently_lost(lab, browser, short_slices):
    session = begin(lab, browser, "command", SETTING)
    for command in ({"kind": "crash", "target": "B1"}, {**SETTING, "name": "consumeThreadMin"}):
        browser.emit("command", command)
        lab.host.serve_once()
    browser.receive()
    assert [refused["reason"] for refused in browser.refused] == ["server_busy"] * 2
    assert session.player.has_job
    assert [command["kind"] for command in finish(lab, browser)["commands"]] == ["setting"]


def test_a_setting_that_cannot_be_is_refused_at_once(lab, browser):
    browser.command("setting", "C1", name="noSuchSetting", value=1)
    assert "noSuchSetting" in browser.refused[0]["text"]["en"]
    assert not session_of(lab, browser).player.has_job


def test_a_fork_far_from_any_copy_is_a_job_and_the_command_follows(lab, browser, short_slices, monkeypatch):
    monkeypatch.setattr(player_module, "FORK_AT_ONCE_EVENTS", 100)
    session = session_of(lab, browser)
    browser.control("scrub", event=900)
    finish(lab, browser)
    browser.control("step-back")
    finish(lab, browser)
    session.player.timeline.free_copies()
    begin(lab, browser, "command", {"kind": "crash", "target": "C1"})
    assert session.view(lab.clock.now)["busy"]["kind"] == "rebuild"
    assert browser.receive()["commands"] == []
    view = finish(lab, browser)
    assert (view["event"], view["events_total"], view["busy"]) == (899, 899, None)
    assert [command["kind"] for command in view["commands"]] == ["crash"]
    assert view["nodes"]["C1"]["status"] == "crashed"


def test_what_cannot_be_done_after_a_far_fork_is_reported_by_the_view(lab, browser, short_slices, monkeypatch):
    monkeypatch.setattr(player_module, "FORK_AT_ONCE_EVENTS", 100)
    session = session_of(lab, browser)
    browser.control("scrub", event=900)
    finish(lab, browser)
    browser.control("step-back")
    finish(lab, browser)
    session.player.timeline.free_copies()
    browser.command("restart", "C1")
    view = finish(lab, browser)
    assert view["stopped_by"]["kind"] == "failure"
    assert view["event"] == 899
    assert not view["in_past"]


def test_whoever_goes_on_by_steps_in_the_past_never_sees_what_lies_before(lab, browser):
    """As if he dragged: a view nearby, and the right one when the hand rests."""
    browser.control("scrub", event=900)
    shown = []
    for _ in range(10):
        lab.clock.now += 0.05
        browser.control("step")
        shown.append(browser.view["event"])
    assert shown == list(range(901, 911))


def test_forking_near_a_copy_needs_no_job(lab, browser):
    browser.control("scrub", event=900)
    browser.command("crash", "C1")
    assert browser.view["event"] == 900
    assert browser.view["nodes"]["C1"]["status"] == "crashed"
    with LabRun(session_of(lab, browser).player.run.scenario, browser.view["seed"]) as again:
        again.run_events(900)
        forked = session_of(lab, browser).player.run.world.lab.journal.entries
        assert forked == again.world.lab.journal.entries


def rebuilt(lab, browser, **changes):
    """A world that is rebuilt from an imported recording of ``general``, of which these fields differ."""
    with LabRun(load_scenario("general")) as run:
        run.run_events(300)
        recording = dataclasses.replace(run.recording(), **{"journal_hash": run.journal_hash, **changes})
    session = lab.host.worlds.import_run(recording, session_of(lab, browser).owner)
    while session.player.has_job:
        lab.serve(5)
    return session


def test_a_recording_of_this_version_is_not_reported(lab, browser):
    assert rebuilt(lab, browser).view(lab.clock.now)["differs"] is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"is_changed": True}, "The scenario has changed since the link was made"),
        ({"journal_hash": "of another version"}, "lead elsewhere here than when it was recorded"),
        ({"journal_hash": "", "time_us": 1}, "lead elsewhere here than when it was recorded"),
        ({"journal_hash": "", "event": 10_000_000}, "lead elsewhere here than when it was recorded"),
    ],
)
def test_a_run_that_is_not_the_recorded_one_is_reported_until_another_is_begun(lab, browser, changes, said):
    session = rebuilt(lab, browser, **changes)
    view = session.view(lab.clock.now)
    assert view["busy"] is None
    assert said in view["differs"]["en"]
    assert set(view["differs"]) == {"en", "zh"}
    # Also in the past, where a link may lead, and when it is played on.
    session.player.scrub(10)
    assert session.view(lab.clock.now)["differs"] == view["differs"]
    session.player.restart()
    assert session.view(lab.clock.now)["differs"] is None


def test_a_recorded_command_that_is_refused_now_is_no_failure_of_the_engine(lab, browser):
    gone = TimedCommand(event=20, time_us=0, command=parse_command({"kind": "crash", "target": "B9"}))
    view = rebuilt(lab, browser, commands=(gone,)).view(lab.clock.now)
    assert view["stopped_by"]["kind"] == "differs"
    assert "the command at event 20 cannot be applied" in view["stopped_by"]["text"]["en"]


def test_a_pace_gives_up_what_it_lags_behind_too_far():
    pace = Pace()
    pace.set_speed(2.0)
    pace.begin(10.0, 1_000_000)
    assert pace.due_us(10.5) == 2_000_000
    pace.note(10.5, 2_000_000 - round(LAG_MAX_S * 1_000_000))
    assert pace.due_us(10.5) == 2_000_000, "a little behind: it catches up"
    pace.note(10.5, 1_000_000)
    assert pace.due_us(10.5) == 1_000_000


def test_a_page_that_confirms_late_goes_on_with_patches(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    received = []
    take = browser._take

    def note(name, payload):
        received.append(name)
        take(name, payload)

    browser._take = note
    browser.acknowledges = False
    browser.control("play")
    lab.pass_time(2)
    assert 1 < received.count("patch") <= WINDOW
    assert browser.view["time_us"] < session_of(lab, browser).player.run.now_us, "it is behind"
    browser.acknowledges = True
    browser.emit("acknowledge", {"sequence": browser.sequence})
    lab.pass_time(0.5)
    browser.control("pause")
    assert "snapshot" not in received
    assert browser.view["time_us"] == session_of(lab, browser).player.run.now_us


def test_a_world_stands_at_any_moment_up_to_the_one_it_has_reached(lab, browser):
    now_us = 6_123_456
    browser.control("run-until", on="time", time_us=now_us)
    last_us = session_of(lab, browser).player.run.world.journal.entries[-1].time_us
    assert last_us < now_us - 2
    for time_us in (last_us, (last_us + now_us) // 2, now_us - 1, now_us, 1, last_us - 1, 5_000_000, now_us - 2):
        browser.control("stand-at", time_us=time_us)
        assert (browser.view["time_us"], browser.view["busy"]) == (time_us, None)
        assert browser.view["in_past"] == (time_us < now_us)
    assert browser.control("step")["time_us"] == now_us
    browser.control("run-until", on="time", time_us=8_000_000)
    browser.control("stand-at", time_us=now_us - 1)
    assert browser.view["time_us"] == now_us - 1
    assert browser.refused == []
