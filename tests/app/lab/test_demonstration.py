"""The film of the start page: what it shows is what the engine does."""

import copy
import gzip
import itertools
import json
from concurrent.futures import Future

import pytest

from app.lab.demonstration import CHAPTERS, Demonstration, DemonstrationMaker
from app.patch import apply_patch


def made(maker):
    while not maker.advance(lambda: True):
        pass
    maker.close()
    return maker.answer.result(0)


@pytest.fixture(scope="module")
def film():
    return made(DemonstrationMaker(Future()))


def views(film):
    """Chapter -> the view at its end."""
    film = copy.deepcopy(film)  # applying a patch changes the tree, here and below
    view, pictures = film["view"], iter(film["pictures"])
    time_us, operations = next(pictures)
    ends = {}
    for chapter in film["chapters"]:
        while time_us is not None and time_us <= chapter["end_us"]:
            view = apply_patch(view, operations)
            time_us, operations = next(pictures, (None, None))
        ends[chapter["name"]] = copy.deepcopy(view)
    return ends


def test_it_takes_half_a_minute(film):
    length_ms = sum(chapter["play_ms"] + chapter["rest_ms"] for chapter in film["chapters"])
    assert 28_000 <= length_ms <= 34_000


def test_its_chapters_follow_each_other_without_a_gap(film):
    chapters = film["chapters"]
    assert [chapter["name"] for chapter in chapters] == [chapter.name for chapter in CHAPTERS]
    assert chapters[0]["begin_us"] == film["view"]["time_us"]
    for one, other in itertools.pairwise(chapters):
        assert one["end_us"] == other["begin_us"]
        assert one["begin_us"] < one["end_us"]


def test_each_caption_is_true_at_the_end_of_its_chapter(film):
    view = views(film)
    assert view["route"]["nodes"]["B1"]["commit_log"]["records"] == []
    (record,) = view["send"]["nodes"]["B1"]["commit_log"]["records"]
    queue = view["send"]["nodes"]["B1"]["topics"]["orders"]["queues"][str(record["queue_id"])]
    assert queue["entries"][0]["offset"] == record["offset"]
    assert any(view["pull"]["nodes"][name]["listener_calls"] for name in ("C1", "C2"))
    owned = [view["many"]["nodes"][name]["process_queues"] for name in ("C1", "C2")]
    assert [sum(queue["topic"] == "orders" for queue in queues.values()) for queues in owned[:1]] == [1]
    assert max(queue["message_count"] for queue in owned[0].values()) > 3
    assert view["kill"]["nodes"]["C2"]["status"] == "crashed"
    taken = view["kill"]["nodes"]["C1"]["process_queues"]
    assert sum(queue["topic"] == "orders" for queue in taken.values()) == 2
    left = view["end"]["nodes"]["C1"]["process_queues"]
    assert all(queue["message_count"] == 0 for queue in left.values())


def test_the_figures_of_the_captions_come_from_the_run(film):
    texts = {chapter["name"]: chapter["text"] for chapter in film["chapters"]}
    sent = views(film)["end"]["nodes"]["P1"]["acknowledged"]
    for language in ("en", "zh"):
        assert str(sent) in texts["end"][language]
    assert "none is lost" in texts["end"]["en"]
    assert " 0 invariants" not in texts["end"]["en"]


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
def test_browsers_keep_it_and_ask_whether_it_changed(lab, film, accept):
    http = lab.server.app.test_client()
    assert http.get("/").status_code == 200
    answer = http.get("/api/demonstration", headers={"Accept-Encoding": accept})
    body = gzip.decompress(answer.data) if accept == "gzip" else answer.data
    assert json.loads(body) == json.loads(json.dumps(film))
    again = http.get("/api/demonstration", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    assert again.data == b""
