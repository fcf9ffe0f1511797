"""Two worlds of one story: standing at one time, made of each other, compared."""

import pytest

LOCK_OFF = {"kind": "lock-switch", "target": "B1", "lock": "broker-lock", "on": False}


@pytest.fixture
def browser(lab):
    browser = lab.browser()
    browser.open(scenario="three-locks")
    return browser


def change(browser, command, *, from_start=True, status=200):
    body = {"change": command and {"command": command, "from_start": from_start}}
    answer = browser.http.post(f"/api/lab/{browser.world}/variant", json=body)
    assert answer.status_code == status, answer.text
    return answer.json


def beside(lab, browser, link):
    """Another page of the same browser, with a world of its own."""
    other = lab.browser(like=browser)
    other.open(link=link, fresh=True)
    return other


def difference(browser, other):
    answer = browser.http.get(f"/api/lab/{browser.world}/difference?other={other.world}")
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_world_stands_at_a_time_and_not_at_a_violation_on_the_way(browser):
    browser.command(**LOCK_OFF)
    browser.control("stand-at", time_us=4_500_000)
    assert browser.view["time_us"] == 4_500_000
    assert not all(invariant["ok"] for invariant in browser.view["invariants"])
    assert not browser.view["in_past"]


def test_back_in_time_a_world_stands_between_two_events_and_goes_forward_again(lab, browser):
    browser.control("stand-at", time_us=1_000_000)
    there = browser.view
    browser.control("stand-at", time_us=3_000_000)
    browser.control("stand-at", time_us=1_000_000)
    assert browser.view["in_past"]
    assert browser.view["time_us"] == 1_000_000
    assert (browser.view["event"], browser.view["nodes"]) == (there["event"], there["nodes"])
    browser.control("stand-at", time_us=1_200_000)
    assert browser.view["time_us"] == 1_200_000
    browser.control("stand-at", time_us=3_000_000)
    assert not browser.view["in_past"]


def test_a_time_beyond_the_story_is_its_end(browser):
    browser.control("stand-at", time_us=20_000_000)
    assert browser.view["is_over"]
    assert browser.view["time_us"] == browser.view["duration_us"]
    browser.control("stand-at", time_us=20_000_000)
    assert not browser.refused


def test_a_world_beside_another_says_how_quickly_to_go_on_now_and_in_its_past(browser):
    assert browser.view["ahead"] is None
    browser.control("stand-at", time_us=4_031_700)
    now = browser.view["ahead"]
    assert now["why"] == "frame"
    assert now["rate"] < 0.1
    assert now["until_us"] > 4_031_700
    browser.control("stand-at", time_us=5_000_000)
    browser.control("stand-at", time_us=4_031_700, anew=True)
    assert browser.view["in_past"]
    assert browser.view["ahead"] == now


@pytest.mark.parametrize("time_us", [-1, 1.5, "now", None, 10**15])
def test_a_time_that_is_none_is_refused(browser, time_us):
    browser.control("stand-at", time_us=time_us)
    assert "time_us" in browser.refused[-1]["text"]["en"]


def test_the_first_difference_that_a_missing_broker_lock_makes_is_reported_on_both_sides(lab, browser):
    browser.control("stand-at", time_us=1_000_000)
    links = change(browser, LOCK_OFF)
    other = beside(lab, browser, links["right"])
    assert other.view["time_us"] == 1_000_000
    assert other.view["nodes"]["B1"]["switched_off"] == ["broker-lock"]
    found = difference(browser, other)
    assert found["left"]["caption"]["en"] == "B1 refuses C2 the lock on Q1: C1 holds it."
    assert "it grants C2 Q1, although C1 still holds the lock" in found["right"]["caption"]["en"]
    browser.control("stand-at", time_us=found["time_us"] - 1)
    other.control("stand-at", time_us=found["time_us"] - 1)
    assert browser.view["frames"] == other.view["frames"]
    browser.control("stand-at", time_us=found["time_us"])
    other.control("stand-at", time_us=found["time_us"])
    assert browser.view["frames"] != other.view["frames"]


def test_two_runs_of_one_story_do_not_differ(lab, browser):
    other = beside(lab, browser, browser.view["link"])
    found = difference(browser, other)
    assert found["event"] is None
    assert found["time_us"] == browser.view["duration_us"]


def test_a_change_here_leaves_the_past_as_it_was_and_the_last_command_can_be_left_out(lab, browser):
    browser.control("stand-at", time_us=2_000_000)
    event = browser.view["event"]
    browser.command(**LOCK_OFF)
    without = change(browser, None)
    other = beside(lab, browser, without["right"])
    assert (other.view["event"], other.view["commands"]) == (event, [])
    here = change(other, LOCK_OFF, from_start=False)
    assert here["right"] == browser.view["link"]
    browser.control("stand-at", time_us=5_000_000)
    assert beside(lab, browser, change(browser, None)["right"]).view["time_us"] == 5_000_000


def test_another_setting_counts_from_the_beginning(lab, browser):
    browser.control("stand-at", time_us=3_000_000)
    setting = {"kind": "setting", "target": "C1", "name": "rebalance_interval_ms", "value": 20_000}
    other = beside(lab, browser, change(browser, setting, from_start=False)["right"])
    assert other.view["commands"][0]["event"] == 0
    assert other.view["time_us"] == 3_000_000
    assert difference(browser, other)["event"] is not None


@pytest.mark.parametrize(
    "command",
    [{"kind": "no-such-thing"}, "off", {"kind": "crash", "target": "X9"}, {"kind": "setting", "target": "C1"}],
)
def test_a_change_that_cannot_be_is_refused(browser, command):
    assert change(browser, command, status=400)["text"]["zh"]


def test_a_command_that_the_world_refuses_where_it_stands_gives_no_link_but_the_reason(lab, browser):
    """The world alone knows which frames fly and which timers run: a link with one that is gone could not be opened."""
    browser.control("stand-at", time_us=2_000_000)
    timer = next(one for one in browser.view["timers"] if "/" in one["actor"])
    fire = {"kind": "fire-timer", "target": timer["actor"], "due_us": timer["due_us"]}
    other = beside(lab, browser, change(browser, fire, from_start=False)["right"])
    assert other.view["commands"][-1]["kind"] == "fire-timer"
    gone = change(browser, {**fire, "due_us": 1_000}, from_start=False, status=400)
    assert gone["reason"] == "command"
    assert timer["actor"] in gone["text"]["en"]
    assert "1000" in gone["text"]["zh"]


def test_there_is_no_last_command_to_leave_out_where_none_was_given(browser):
    assert change(browser, None, status=400)["reason"] == "no_command"


def test_worlds_of_others_are_not_compared(lab, browser):
    stranger = lab.browser()
    stranger.open(scenario="hello")
    answer = stranger.http.get(f"/api/lab/{stranger.world}/difference?other={browser.world}")
    assert answer.status_code == 404


@pytest.mark.parametrize("query", ["", "?other=", "?other=1&other=2", "?other=1&more=2", f"?other={'x' * 1_000}"])
def test_a_comparison_names_one_other_world(browser, query):
    answer = browser.http.get(f"/api/lab/{browser.world}/difference{query}")
    assert (answer.status_code, answer.json["parameter"] in ("other", "more")) == (400, True)
