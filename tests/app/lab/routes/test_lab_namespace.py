"""A world in a browser: opened, played, stepped, broken, rewound, shared; over Socket.IO's own test client."""

import pytest

from engine.lab.scenario.command import parse_command


def test_a_scenario_opens_at_event_0_paused(lab):
    browser = lab.browser()
    view = browser.open(scenario="general")
    assert (view["event"], view["time_us"], view["playing"], view["in_past"]) == (0, 0, False, False)
    assert view["scenario"] == "general"
    assert set(view["nodes"]) == {"N1", "B1", "P1", "C1", "C2"}
    assert browser.mine


def test_one_step_is_one_event(lab):
    browser = lab.browser()
    actor = browser.open(scenario="general")["next"]["actor"]
    view = browser.control("step")
    assert view["event"] == 1
    assert browser.journal[-1][0] == 1
    assert browser.journal[-1][2] == actor


def test_a_playing_world_keeps_pace_with_real_time(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    browser.control("speed", speed=1)
    browser.control("play")
    lab.pass_time(3)
    view = browser.receive()
    assert view["playing"]
    assert (view["speed"], view["speed_now"], view["pace"]) == (1, 1, "")
    assert 2_900_000 <= view["time_us"] <= 3_100_000
    browser.control("speed", speed=10)
    lab.pass_time(1)
    assert 12_500_000 <= browser.receive()["time_us"] <= 14_000_000
    assert not browser.control("pause")["playing"]


def test_by_itself_time_follows_the_eye_and_says_why(lab):
    browser = lab.browser()
    view = browser.open(scenario="general")
    assert (view["speed"], view["speed_now"]) == ("auto", None)
    browser.control("speed", speed=5)
    browser.control("speed", speed="auto")
    browser.control("play")
    seen = {}
    for _ in range(400):
        lab.pass_time(0.05)
        view = browser.receive()
        seen.setdefault(view["pace"], []).append(view["speed_now"])
    assert seen.keys() == {"frame", "listener", "gap"}
    assert max(seen["frame"]) < 0.5 < max(seen["gap"])
    assert not browser.control("pause")["pace"]


def test_step_back_shows_the_world_before_the_last_event(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    views = [browser.control("step") for _ in range(60)]
    assert views[-1]["event"] == 60
    shown = [dict(view["nodes"]) for view in views]
    for event in (59, 58, 57):
        view = browser.control("step-back")
        assert (view["event"], view["in_past"], view["events_total"]) == (event, True, 60)
        assert view["nodes"].keys() == shown[event - 1].keys()
    assert browser.control("step")["event"] == 58
    assert not browser.control("scrub", event=60)["in_past"]


def test_a_command_in_the_past_forks_and_leaves_the_old_run_s_link(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    browser.control("run-until", on="time", time_us=3_000_000)
    total = browser.view["event"]
    link = browser.view["link"]
    browser.control("scrub", event=total // 2)
    view = browser.command("crash", "B1")
    assert view["event"] == view["events_total"] == total // 2
    assert view["nodes"]["B1"]["status"] == "crashed"
    assert view["forked_from"] == link
    assert browser.journal[-1][0] == total // 2


def test_a_link_rebuilds_the_identical_world_in_another_browser(lab):
    first = lab.browser()
    first.open(scenario="general")
    first.control("run-until", on="time", time_us=2_000_000)
    first.command("crash", "C1")
    first.control("run-until", on="time", time_us=4_000_000)
    second = lab.browser()
    view = second.open(scenario="general", link=first.view["link"])
    assert second.world != first.world
    assert second.mine
    changing = {"world", "stopped_by", "frames"}
    assert {k: v for k, v in view.items() if k not in changing} == {
        k: v for k, v in first.view.items() if k not in changing
    }
    assert [frame["id"] for frame in view["frames"]] == [frame["id"] for frame in first.view["frames"]]


def test_a_reload_and_a_second_tab_find_the_same_world(lab):
    first = lab.browser()
    first.open(scenario="general")
    first.control("step")
    link = first.view["link"]
    first.close()
    again = lab.browser(like=first)
    assert again.open(scenario="general")["event"] == 1
    second_tab = lab.browser(like=first)
    second_tab.open(scenario="general", link=link)
    assert second_tab.world == again.world == first.world
    again.control("step")
    assert second_tab.receive()["event"] == 2


def test_a_page_that_asks_joins_only_a_run_that_has_not_begun(lab):
    first, asking = lab.browser(), None
    first.open(scenario="general", asks=True)
    asking = lab.browser(like=first)
    assert asking.open(scenario="general", asks=True)["world"]["viewers"] == 2
    first.control("step")
    lab.clock.now += 60
    asking = lab.browser(like=first)
    assert asking.open(scenario="general", asks=True) is None
    assert (asking.found["event"], 60 <= asking.found["age_s"] < 62) == (1, True)
    assert asking.open(scenario="general")["event"] == 1
    assert asking.open(scenario="general", fresh=True)["event"] == 0
    asking.command("lock-switch", "", lock="broker-lock", on=False)
    again = lab.browser(like=first)
    again.open(scenario="general", asks=True)
    assert again.found["event"] == 0
    assert again.refused == asking.refused == []


def test_a_world_stands_still_while_nobody_watches_and_goes_on_where_it_was(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    browser.control("speed", speed=1)
    browser.control("play")
    lab.pass_time(3, step=0.1)
    before = browser.receive()["time_us"]
    assert before > 1_000_000
    browser.close()
    lab.pass_time(8, step=0.1)
    back = lab.browser(like=browser)
    assert back.open(scenario="general")["playing"]
    assert back.view["time_us"] - before < 200_000
    lab.pass_time(2, step=0.1)
    assert back.receive()["time_us"] - before > 1_000_000


def test_a_world_of_another_browser_is_not_to_be_had(lab):
    owner, other = lab.browser(), lab.browser()
    owner.open(scenario="general")
    other.open(world=owner.world)
    assert other.view is None
    assert other.refused[-1]["reason"] == "no_world"
    assert other.refused[-1]["text"]["zh"] != other.refused[-1]["text"]["en"]


def test_a_published_world_can_be_followed_but_not_controlled_and_be_forked(lab):
    teacher, student = lab.browser(), lab.browser()
    teacher.open(scenario="general")
    for _ in range(5):
        teacher.control("step")
    teacher.control("publish", on=True)
    view = student.open(world=teacher.world)
    assert (view["event"], student.mine) == (5, False)
    assert teacher.receive()["world"]["viewers"] == 2
    teacher.control("step")
    assert student.receive()["event"] == 6
    student.control("step")
    assert student.refused[-1]["reason"] == "not_yours"
    student.control("fork")
    assert student.mine
    assert student.world != teacher.world
    assert student.control("step")["event"] == 7
    assert teacher.receive()["event"] == 6


def test_run_until_stops_at_the_first_event_that_fits(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    view = browser.control("run-until", on="consume-begins", node="C1")
    assert view["nodes"]["C1"]["listener_calls"]
    assert view["busy"] is None


def test_step_actor_ends_with_that_actor_s_event(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    browser.control("run-until", on="sent")
    actor = next(a["name"] for a in browser.view["actors"] if a["node"] == "C2")
    browser.control("step-actor", actor=actor)
    assert browser.journal[-1][2] == actor or browser.view["is_over"]
    browser.control("step-actor", actor="nobody/nothing")
    assert browser.refused[-1]["reason"] == "unknown_actor"


def test_the_end_of_the_story_is_said_and_restart_begins_anew(lab):
    browser = lab.browser()
    end_us = browser.open(scenario="general")["duration_us"]
    view = browser.control("run-until", on="time", time_us=end_us)
    assert view["is_over"]
    browser.control("play")
    assert browser.refused[-1]["reason"] == "over"
    assert browser.control("restart")["event"] == 0
    assert browser.journal == []


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("open", [{"scenario": "nothing-like-it"}]),
        ("open", [{"scenario": "../../etc/passwd"}]),
        ("open", [{"link": "x" * 100}]),
        ("open", [{"link": "x" * 4000}]),
        ("open", [{}]),
        ("open", [{"scenario": 7}]),
        ("open", [{"scenario": "general", "seed": -1}]),
        ("open", [{"scenario": "general", "sead": 1}]),
        ("control", [{"action": "play"}]),
        ("command", [{"kind": "crash", "target": "B1"}]),
    ],
)
def test_what_cannot_be_opened_is_refused_in_both_languages(lab, event, arguments):
    browser = lab.browser()
    browser.send(event, *arguments)
    assert browser.view is None
    (refusal,) = browser.refused
    assert refusal["text"]["en"]
    assert refusal["text"]["zh"]
    assert refusal["text"]["zh"] != refusal["text"]["en"]


@pytest.mark.parametrize(
    "request_",
    [
        {"action": "fly"},
        {"action": ["play"]},
        {"action": "scrub"},
        {"action": "scrub", "event": -1},
        {"action": "scrub", "event": 10**9},
        {"action": "scrub", "event": True},
        {"action": "scrub", "event": 5},
        {"action": "speed", "speed": 0},
        {"action": "speed", "speed": 1001},
        {"action": "speed", "speed": "fast"},
        {"action": "run-until", "on": "doomsday"},
        {"action": "run-until", "on": "time", "time_us": 1e99},
        {"action": "run-until", "on": "label", "contains": "x" * 500},
        {"action": "step-actor", "actor": {}},
        {"action": "play", "loud": True},
        {"action": "play", "slow_to": -1},
        {"action": "play", "slow_to": "soon"},
        {"action": "publish", "on": "yes"},
    ],
)
def test_a_control_that_means_nothing_is_refused_and_changes_nothing(lab, request_):
    browser = lab.browser()
    before = browser.open(scenario="general")
    browser.send("control", request_)
    assert len(browser.refused) == 1
    assert browser.view == before


def test_a_command_may_come_with_all_of_its_fields(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    command = {"kind": "fault", "target": "B1", "what": "drop", "frame": "HEART_BEAT", "direction": "in", "times": 1}
    browser.send("command", parse_command(command).to_dict())
    assert browser.refused == []


@pytest.mark.parametrize(
    "command",
    [
        {},
        {"kind": "explode"},
        {"kind": "crash"},
        {"kind": "crash", "target": "X9"},
        {"kind": "crash", "target": "B1", "how": "hard"},
        {"kind": "clock-skew", "target": "B1", "ms": "1"},
        {"kind": "link-loss", "target": "P1->B1", "ratio": 2},
        {"kind": "setting", "target": "B1", "name": "data_folder", "value": "/etc"},
        {"kind": "restart", "target": "B1"},
        {f"field{n}": n for n in range(21)},
    ],
)
def test_a_command_that_cannot_be_is_refused_with_what_is_allowed(lab, command):
    browser = lab.browser()
    browser.open(scenario="general")
    for _ in range(30):
        browser.control("step")
    browser.send("command", command)
    assert len(browser.refused) == 1
    assert browser.view["commands"] == []


def test_a_changed_setting_makes_a_new_run_from_the_beginning(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    browser.control("run-until", on="time", time_us=1_000_000)
    view = browser.command("setting", "C1", name="pullBatchSize", value=1)
    assert {"node": "C1", "name": "pull_batch_size", "value": 1, "unit": ""} in view["settings"]
    assert 900_000 <= view["time_us"] <= 1_000_000
    assert view["forked_from"]


def test_a_page_that_does_not_acknowledge_gets_no_more_than_the_window(lab):
    browser = lab.browser()
    browser.acknowledges = False
    browser.open(scenario="general")
    for _ in range(30):
        browser.control("step")
    assert browser.view["event"] < 10
    browser.acknowledges = True
    browser.send("acknowledge", {"sequence": browser.sequence})
    assert browser.receive()["event"] == 30


def test_a_flood_ends_the_connection(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    for _ in range(400):
        browser.emit("resync", {})
    browser.receive()
    assert browser.goodbye == {"reason": "too many events"}


def test_nonsense_ends_the_connection_and_harms_nobody_else(lab):
    browser, other = lab.browser(), lab.browser()
    other.open(scenario="general")
    for number in range(25):
        lab.clock.now += 1
        browser.send("whatever", number)
    assert browser.goodbye
    assert other.control("step")["event"] == 1


def test_a_world_that_nobody_watches_stops_playing_and_is_freed_in_the_end(lab):
    browser = lab.browser()
    browser.open(scenario="general")
    browser.control("play")
    browser.close()
    (session,) = lab.host.worlds.sessions.values()
    lab.pass_time(20, step=1)
    assert not session.player.playing
    lab.pass_time(700, step=10)
    assert not lab.host.worlds.sessions


def test_a_browser_s_ninth_world_takes_the_place_of_one_that_nobody_watches(lab):
    browser = lab.browser()
    seen = []
    for seed in range(10):
        lab.clock.now += 1
        browser.open(scenario="hello", seed=seed)
        seen.append(browser.world)
    assert len(lab.host.worlds.sessions) == 8
    assert seen[-1] in lab.host.worlds.sessions
    assert seen[0] not in lab.host.worlds.sessions


def test_the_number_of_watched_worlds_is_bounded(lab):
    browsers = [lab.browser() for _ in range(31)]
    for browser in browsers:
        browser.open(scenario="hello")
    assert len(lab.host.worlds.sessions) == 30
    assert browsers[-1].refused[-1]["reason"] == "too_many_worlds"
    browsers[0].close()
    assert browsers[-1].open(scenario="hello")["scenario"] == "hello"
