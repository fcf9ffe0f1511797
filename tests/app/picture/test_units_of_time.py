"""The pages have one unit for points in time: microseconds of the world's clock, in keys that end in ``_us``."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import app.picture
from app.picture.live.fault import FrameRecordState
from tests.support.picture.schema_problems import schema_problems

#: All that the pages get in milliseconds: how long something takes, lasts or waits. A new name joins them only if it is
#: a duration, too.
DURATION = re.compile(
    "((age|behind|check_interval|clock_ahead|delays?|deliver_p50|deliver_p99|durations?|ends_in|expiry|flush|for|latency|"
    "lease|lock_lease|paused|play|replica_lag|rest|rt|settling|silent|skew|slice|time_out|time_step|timeout|total|"
    "waiting)_)?ms"
)

#: Keys that sound like a point in time and are not in ``_us``, and what they are.
OTHER_UNITS = {
    "at": "the event at which a film opens",
    "done_at": "seconds since 1970: the form of learners' progress files",
    "last_at": "a position in a file, like the next two",
    "next_at": "",
    "previous_at": "",
    "point_at": "what a lesson points at",
    "seconds": "how long a search took",
    "search_seconds": "the same, without making a finding smaller",
}


def keys_of_the_schema() -> set[str]:
    (folder,) = app.picture.__path__
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(folder).rglob("*.py")]
    return {
        node.target.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }


def test_only_durations_are_in_milliseconds():
    keys = keys_of_the_schema()
    assert [key for key in keys if re.fullmatch(r"(.*_)?ms", key) and not DURATION.fullmatch(key)] == []
    assert {"stored_us", "born_us", "at_us", "started_us", "now_us"} <= keys


def test_no_other_key_is_called_a_point_in_time():
    named = {key for key in keys_of_the_schema() if re.fullmatch("(.*_)?(at|date|instant|moment|seconds?|time)", key)}
    assert named == OTHER_UNITS.keys()


def test_a_point_in_time_in_milliseconds_does_not_follow_the_schema():
    state = {"client": "", "bodies": False, "count": 0, "started_us": 1_763_700_000_000_000}
    assert list(schema_problems(state, FrameRecordState)) == []
    assert list(schema_problems({**state, "started_us": 1_763_700_000_000}, FrameRecordState)) == [
        "picture.started_us: 1763700000000 is in milliseconds since 1970"
    ]
