"""The film of the start page: what it shows is what the engine does."""

import copy
import gzip
import itertools
import json
from collections import Counter
from concurrent.futures import Future

import pytest

from app.foundation.patch import apply_patch
from app.lab.routes import film_file
from app.lab.routes.demonstration import TAKES, Demonstration, DemonstrationMaker
from app.lab.routes.film_file import SCENARIO
from app.lessons.lesson_files import lesson_names
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario


def made(maker):
    while not maker.advance(lambda: True):
        pass
    maker.close()
    return maker.answer.result(0)


@pytest.fixture(scope="module")
def film():
    return made(DemonstrationMaker(Future()))


@pytest.fixture(scope="module")
def views(film):
    """Chapter -> the view at its end."""
    film = copy.deepcopy(film)  # applying a patch changes the tree, here and below
    view = film["view"]
    ends = {}
    for chapter in film["chapters"]:
        for _, operations in chapter["pictures"]:
            view = apply_patch(view, operations)
        ends[chapter["name"]] = copy.deepcopy(view)
    return ends


def being_handled(view, consumer):
    return [key for call in view["nodes"][consumer]["listener_calls"] for key in call["keys"]]


def broken(view):
    return [invariant["name"] for invariant in view["invariants"] if not invariant["ok"]]


def locks(view):
    """Queue -> the node that the broker has given it to."""
    nodes = view["nodes"]
    names = {nodes[name].get("client_id"): name for name in ("C1", "C2")}
    return {
        f"{lock['topic']}@{lock['queue_id']}": names.get(lock["client_id"])
        for of_group in nodes["B1"]["locks"].values()
        for lock in of_group.values()
        if not lock["topic"].startswith("%")
    }


def test_it_takes_three_quarters_of_a_minute_and_the_duplicate_is_seen_within_half_a_minute(film):
    length_ms = {chapter["name"]: chapter["play_ms"] + chapter["rest_ms"] for chapter in film["chapters"]}
    assert 35_000 <= sum(length_ms.values()) <= 46_000
    names = list(length_ms)
    assert sum(length_ms[name] for name in names[: names.index("duplicate") + 1]) < 30_000


def test_the_chapters_of_a_run_follow_each_other_without_a_gap(film):
    chapters = film["chapters"]
    assert [chapter["name"] for chapter in chapters] == [chapter.name for take in TAKES for chapter in take.chapters]
    assert chapters[0]["begin_us"] == film["view"]["time_us"]
    for one, other in itertools.pairwise(chapters):
        assert one["begin_us"] < one["end_us"]
        if one["take"] == other["take"]:
            assert one["end_us"] == other["begin_us"]


def test_the_pictures_of_a_chapter_lie_within_it_in_order(film):
    for chapter in film["chapters"]:
        times = [time for time, _ in chapter["pictures"]]
        assert times == sorted(times)
        assert chapter["begin_us"] <= times[0]
        assert times[-1] <= chapter["end_us"]


def test_the_second_run_begins_where_the_first_one_came_to_the_point(film):
    chapters = {chapter["name"]: chapter for chapter in film["chapters"]}
    assert chapters["refused"]["begin_us"] == chapters["join"]["begin_us"]
    assert chapters["refused"]["pictures"][0][0] == chapters["join"]["begin_us"]


def test_one_order_goes_into_the_log_the_queue_and_the_consumer(views):
    broker = views["send"]["nodes"]["B1"]
    (record,) = broker["commit_log"]["records"]
    (entry,) = broker["topics"]["Orders"]["queues"]["1"]["entries"]
    assert (entry["offset"], entry["key"]) == (record["offset"], record["key"])
    assert being_handled(views["consume"], "C1") == [entry["key"]]


def test_before_the_lock_is_off_each_queue_is_held_by_its_one_owner(views):
    view = views["order"]
    assert locks(view) == {"Orders@0": "C1", "Orders@1": "C1"}
    assert view["nodes"]["B1"]["switched_off"] == []
    calls = view["nodes"]["C1"]["listener_calls"]
    assert sorted((call["queue_id"], len(call["keys"])) for call in calls) == [(0, 1), (1, 1)]
    assert broken(view) == []


def test_without_the_lock_both_handle_the_same_order_at_once_and_the_invariant_says_so(views):
    assert views["off"]["nodes"]["B1"]["switched_off"] == ["broker-lock"]
    assert broken(views["join"]) == []
    view = views["duplicate"]
    (key,) = set(being_handled(view, "C1")) & set(being_handled(view, "C2"))
    assert broken(view) == ["one-consumption-per-queue"]
    (violation,) = next(each for each in view["invariants"] if not each["ok"])["violations"]
    assert violation["anomaly"] == "duplicate"
    assert violation["messages"] == [key]


def test_with_the_lock_the_newcomer_gets_the_queue_only_when_its_owner_gave_it_up(views):
    refused = views["refused"]
    assert refused["nodes"]["B1"]["switched_off"] == []
    assert locks(refused)["Orders@1"] == "C1"
    assert "Orders@1" not in refused["nodes"]["C2"]["process_queues"]
    assert being_handled(refused, "C2") == []
    assert locks(views["handover"])["Orders@1"] == "C2"
    assert "Orders@1" not in views["handover"]["nodes"]["C1"]["process_queues"]


def test_with_the_lock_everything_is_handled_once_and_all_invariants_hold(views):
    view = views["end"]
    assert broken(view) == []
    queues = view["nodes"]["B1"]["topics"]["Orders"]["queues"]
    assert [queue["committed"]["shop"] for queue in queues.values()] == [queue["max"] for queue in queues.values()]
    assert sum(queue["max"] for queue in queues.values()) == view["nodes"]["P1"]["acknowledged"]


def handled(*commands, at_us):
    """Key -> how often it was handled, in a run of the film's scenario that knows nothing of the film."""
    with LabRun(load_scenario(SCENARIO)) as run:
        run.run_to_time(at_us)
        for command in commands:
            run.apply(parse_command(command))
        run.run_to_time(run.world.end_us)
        return Counter(ended.key for ended in run.world.history.consumes_ended)


def test_the_figures_of_the_captions_come_from_the_runs(film, views):
    texts = {chapter["name"]: chapter["text"] for chapter in film["chapters"]}
    switched_us = next(chapter["begin_us"] for chapter in film["chapters"] if chapter["name"] == "off")
    switch = {"kind": "lock-switch", "target": "B1", "lock": "broker-lock", "on": False}
    without, once = handled(switch, at_us=switched_us), handled(at_us=switched_us)
    assert set(once.values()) == {1}
    assert len(once) == views["end"]["nodes"]["P1"]["acknowledged"]
    twice = sum(times == 2 for times in without.values())
    assert twice > 1
    for language in ("en", "zh"):
        assert being_handled(views["duplicate"], "C2")[0] in texts["duplicate"][language]
        assert f" {twice} " in texts["twice"][language]
        assert f" {len(once)} " in texts["end"][language]
    assert " 0 invariants" not in texts["end"]["en"]


def test_it_leads_to_its_own_world_and_to_a_lesson(film):
    assert film["address"] == f"/lab/{SCENARIO}"
    assert film["lesson"].removeprefix("/tutorials/") in lesson_names()


def test_it_is_the_same_film_every_time(film):
    assert made(DemonstrationMaker(Future())) == film


def test_it_is_small(film):
    assert len(gzip.compress(json.dumps(film).encode())) < 60_000


# --- serving it ----------------------------------------------------------------------------------------------------


def test_it_is_made_once_for_all_visitors(film):
    started = []
    demonstration = Demonstration(started.append)
    answer = demonstration.begin()
    assert demonstration.begin() is answer
    assert len(started) == 1
    answer.set_result(film)
    assert demonstration.begin() is answer
    assert demonstration.file(film) is demonstration.file(film)


def test_a_film_that_failed_is_made_again():
    started = []
    demonstration = Demonstration(started.append)
    demonstration.begin().set_exception(RuntimeError("broken"))
    demonstration.begin()
    assert len(started) == 2


@pytest.mark.parametrize("accept", ["gzip", "identity"])
def test_without_a_built_one_it_is_made_and_browsers_keep_it_and_ask_whether_it_changed(
    lab, film, accept, tmp_path, monkeypatch
):
    monkeypatch.setattr(film_file, "BUILT", tmp_path)
    http = lab.server.app.test_client()
    assert http.get("/").status_code == 200
    answer = http.get("/api/demonstration", headers={"Accept-Encoding": accept})
    body = gzip.decompress(answer.data) if accept == "gzip" else answer.data
    assert json.loads(body) == json.loads(json.dumps(film))
    again = http.get("/api/demonstration", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert again.data == b""
