"""What one gets who looks closer: records down to their bytes, parts of the journal, stretches of time."""

import pytest

from app.lab.foundation.browser_identity import CONNECTION_HEADER
from app.lab.session import journal_pages
from app.lab.session.journal_pages import PAGE_MAX, WINDOW_ENTRIES_MAX, JournalFilter, search_backward
from app.lab.session.journal_pages import search_forward as forward
from engine.runtime.lab.lab_journal import LabJournal


@pytest.fixture
def browser(lab):
    browser = lab.browser()
    browser.open(scenario="hello")
    browser.control("run-until", on="consumed")
    return browser


def get(browser, path, **query):
    return browser.http.get(f"/api/lab/{browser.world}/{path}", query_string=query)


# --- records -------------------------------------------------------------------------------------------------------


def test_a_record_opens_down_to_its_fields_and_bytes(browser):
    shown = browser.view["nodes"]["B1"]["commit_log"]["records"][0]
    answer = get(browser, f"records/B1/{shown['offset']}").get_json()
    assert answer["record"]["size_bytes"] == shown["size_bytes"] == len(answer["hex"]) // 2
    assert answer["body_text"] == shown["body_preview"]
    assert sum(field["length"] for field in answer["fields"]) == shown["size_bytes"]
    assert all(field["explanation_zh"] for field in answer["fields"])


def test_a_message_of_a_queue_opens_as_the_record_that_its_entry_points_to(browser):
    shown = browser.view["nodes"]["B1"]["commit_log"]["records"][0]
    place = f"records/B1/{shown['topic']}/{shown['queue_id']}/{shown['queue_offset']}"
    by_entry = get(browser, place).get_json()
    assert by_entry == get(browser, f"records/B1/{shown['offset']}").get_json()


@pytest.mark.parametrize(
    "path",
    ["records/B1/7", "records/P1/0", "records/X/0", "records/B1/Greetings/0/99", "records/B1/Nothing/0/0",
     "records/B1/Greetings/99/0", "records/B1/99999999999999999999", "records/B1/Greetings/0/99999999999999999999"],
)  # fmt: skip
def test_a_record_that_is_not_there_is_a_404_in_both_languages(browser, path):
    answer = get(browser, path)
    assert answer.status_code == 404
    assert answer.get_json()["text"]["en"] != answer.get_json()["text"]["zh"]


def test_a_stranger_s_world_shows_no_record(lab, browser):
    assert lab.server.app.test_client().get(f"/api/lab/{browser.world}/records/B1/0").status_code == 404


@pytest.mark.parametrize(
    ("connection", "status"), [("its own", 200), ("a" * 20, 404), ("", 404), ("a b", 404), ("-" * 65, 404)]
)
def test_a_page_without_cookies_is_known_by_its_connection(lab, connection, status):
    """A frame of another site has none."""
    browser = lab.browser(with_cookies=False)
    browser.open(scenario="hello")
    headers = {CONNECTION_HEADER: next(iter(lab.host._pages)) if connection == "its own" else connection}
    stranger = lab.server.app.test_client()
    assert stranger.get(f"/api/lab/{browser.world}/journal?after=0&count=9", headers=headers).status_code == status


def test_the_past_shows_its_own_records(lab, browser):
    """The broker is down at the head; in the past that one looks at it is not, and the other way round."""
    stored_at = browser.view["event"]
    browser.command("crash", "B1")
    browser.control("run-until", on="time", time_us=browser.view["time_us"] + 50_000)
    assert get(browser, "records/B1/0").status_code == 404
    browser.control("scrub", event=stored_at - 1)  # what is done at an event belongs to it
    lab.pass_time(0.5)
    assert browser.view["event"] == stored_at - 1
    assert get(browser, "records/B1/0").get_json()["record"]["offset"] == 0
    browser.control("scrub", event=40)
    lab.pass_time(0.5)
    assert browser.view["event"] == 40
    assert get(browser, "records/B1/0").status_code == 404


# --- journal -------------------------------------------------------------------------------------------------------


def test_any_part_of_the_journal_can_be_asked_for(browser):
    entries = get(browser, "journal", after=9, count=20).get_json()["entries"]
    assert [entry[0] for entry in entries] == list(range(10, 30))
    assert entries == browser.journal[9:29]


def test_the_filter_runs_over_the_whole_journal(browser):
    wanted = [entry[0] for entry in browser.journal if entry[2].startswith("C1/")]
    answer = get(browser, "journal", below=10**5, text="c1/").get_json()
    assert [entry[0] for entry in answer["entries"]] == wanted
    assert (answer["low"], answer["high"]) == (1, browser.view["event"])


def test_the_filter_of_a_node_takes_what_arrives_there(browser):
    answer = get(browser, "journal", above=0, node="B1").get_json()["entries"]
    actors = {entry[2] for entry in answer}
    assert "P1->B1" in actors
    assert "B1->P1" not in actors


@pytest.mark.parametrize(
    "query",
    [{}, {"after": "x"}, {"after": -1}, {"after": 1, "below": 1}, {"after": 1, "count": PAGE_MAX + 1}, {"below": 10**9},
     {"below": 1, "text": "x" * 300}, {"after": 1, "more": 1}],
)  # fmt: skip
def test_a_question_that_means_nothing_is_refused(browser, query):
    answer = get(browser, "journal", **query)
    assert answer.status_code == 400
    assert answer.get_json()["text"]["zh"]


@pytest.fixture
def long_journal(monkeypatch):
    """More than twice as long as one search looks: the bound is lowered, for that costs seconds."""
    monkeypatch.setattr(journal_pages, "SEARCHED_MAX", 2_000)
    journal = LabJournal()
    for number in range(1, 2 * 2_000 + 138):
        journal.append(number, number * 10, "A/even" if number % 2 == 0 else "B/odd", "goes on", 0)
    return journal


def all_found(journal, search, wanted, start):
    """Ask as the page does until everything has been looked at; the numbers found, and the number of answers."""
    found, answers = [], 0
    while True:
        answer = search(journal, wanted, start)
        answers += 1
        assert len(answer["entries"]) <= PAGE_MAX
        found += [entry[0] for entry in answer["entries"]]
        start = answer["low"] if search is search_backward else answer["high"]
        if start <= 1 if search is search_backward else start >= len(journal.entries):
            return sorted(found), answers


@pytest.mark.parametrize(("search", "start"), [(search_backward, 10**6), (forward, 0)])
@pytest.mark.parametrize("text", ["even", "#7", "nothing like it", ""])
def test_a_search_in_pieces_finds_each_entry_once(search, start, text, long_journal):
    found, answers = all_found(long_journal, search, JournalFilter(text), start)
    assert found == [entry.number for entry in long_journal.entries if JournalFilter(text).fits(entry)]
    assert answers >= 3


# --- stretches of time ---------------------------------------------------------------------------------------------


def test_a_window_has_the_events_and_frames_of_its_time(browser):
    entries = [entry for entry in browser.journal if 1_000_000 <= entry[1] <= 1_020_000]
    answer = get(browser, "window", left_us=1_000_000, right_us=1_020_000).get_json()
    assert answer["entries"] == entries
    assert answer["every"] == 1
    assert {"SEND_MESSAGE_V2"} & {frame["name"] for frame in answer["frames"]}
    assert all(frame["sent_us"] <= 1_020_000 for frame in answer["frames"])


def test_frames_that_are_not_kept_any_more_are_known_by_their_arrival(lab, browser):
    frames = browser.view["frames"]
    sent = lab.host.worlds.sessions[browser.world].player.run.world.witness.frames
    sent.remember(1, size_bytes=1_000_000)
    oldest_us = sent.newest.time_us
    answer = get(browser, "window", left_us=0, right_us=frames[-1]["arrives_us"]).get_json()
    arrived = [f for f in frames if f["kind"] in ("request", "response") and f["arrives_us"] < oldest_us]
    ways = {(f["source"], f["target"], f["sent_us"], f["arrives_us"]) for f in answer["frames"]}
    assert arrived
    assert {(f["source"], f["target"], f["sent_us"], f["arrives_us"]) for f in arrived} <= ways
    assert {frame["id"] for frame in answer["frames"]} <= {None, sent.count}


def test_a_window_is_bounded(lab):
    browser = lab.browser()
    browser.open(scenario="big-stage")
    browser.control("run-until", on="time", time_us=2_000_000)
    lab.serve(4_000)
    answer = get(browser, "window", left_us=0, right_us=10**9).get_json()
    assert len(answer["entries"]) <= WINDOW_ENTRIES_MAX
    assert answer["every"] > 1


def test_the_window_of_the_past_ends_there(lab, browser):
    browser.control("scrub", event=60)
    lab.pass_time(0.5)
    answer = get(browser, "window", left_us=0, right_us=10**9).get_json()
    assert answer["entries"][-1][0] == 60


@pytest.mark.parametrize("query", [{}, {"left_us": 5, "right_us": 4}, {"left_us": "a", "right_us": 1}])
def test_a_window_that_is_none_is_refused(browser, query):
    assert get(browser, "window", **query).status_code == 400


# --- the stream ----------------------------------------------------------------------------------------------------


def test_a_page_that_was_slow_gets_the_entries_that_it_missed(lab, browser):
    browser.acknowledges = False
    for _ in range(12):
        browser.control("step")
    browser.acknowledges = True
    browser.emit("acknowledge", {"sequence": browser.sequence})
    browser.control("step")
    numbers = [entry[0] for entry in browser.journal]
    assert numbers == list(range(1, browser.view["event"] + 1))


def test_a_page_that_missed_a_fork_drops_what_is_gone(lab, browser):
    browser.acknowledges = False
    for _ in range(8):
        browser.control("step")
    browser.control("scrub", event=50)
    lab.pass_time(0.5)
    browser.control("fork")
    browser.acknowledges = True
    browser.emit("acknowledge", {"sequence": browser.sequence})
    browser.control("step")
    lab.pass_time(0.3)
    assert browser.view["event"] == 51
    assert browser.journal[-1][0] == 51


# --- why -----------------------------------------------------------------------------------------------------------


def test_why_is_answered_as_of_the_moment_that_one_looks_at(browser):
    key = next(iter(browser.view["life"]["messages"]))
    answer = get(browser, "why", key=key).get_json()
    assert (answer["key"], answer["event"]) == (key, browser.view["event"])
    assert answer["answers"]
    steps = [step for one in answer["answers"] for step in one["steps"]]
    assert all(step["text"]["en"] and step["text"]["zh"] for step in steps)
    assert all(step["ahead"] is (step["event"] > browser.view["event"]) for step in steps)
    browser.control("scrub", event=3)
    assert get(browser, "why", key=key).get_json()["answers"] == []


def test_nobody_knows_a_key_that_was_never_sent(browser):
    assert get(browser, "why", key="nobody-sent-this").get_json()["answers"] == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [({}, "1 to 200 characters"), ({"key": "k" * 201}, "1 to 200 characters"), ({"key": "k", "at": "1"}, "key")],
)
def test_a_question_without_a_key_is_refused_by_name(browser, query, problem):
    answer = get(browser, "why", **query)
    assert answer.status_code == 400
    assert problem in answer.get_json()["error"]


def test_a_stranger_gets_no_answer(lab, browser):
    assert lab.server.app.test_client().get(f"/api/lab/{browser.world}/why?key=hello-0").status_code == 404
