"""The frames of replicas open field by field, and every field names the bytes that it is read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.lab.views.frames import FramesView
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario

#: What the group of majority-log says to each other until 2.5 s, when it has its second leader.
RAFT_NAMES = {"REQUEST_PRE_VOTE", "PRE_VOTE", "REQUEST_VOTE", "VOTE", "HEARTBEAT", "APPEND_ENTRIES", "APPEND_ANSWER"}


def details(scenario: str, until_ms: int) -> list[dict[str, Any]]:
    """Every frame of the run, opened."""
    with LabRun(load_scenario(scenario)) as run:
        recorder = FramesView(run.world)
        run.run_to_time(until_ms * 1_000)
        last: Any = recorder.view(run.now_us)[-1]
        opened: list[Any] = [recorder.detail(number) for number in range(1, last["id"] + 1)]
    return [one for one in opened if one is not None and one["kind"] in ("request", "response")]


def leaves(tree: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for field in tree:
        if field["children"]:
            yield from leaves(field["children"])
        else:
            yield field


@pytest.fixture(scope="module")
def of_raft() -> list[dict[str, Any]]:
    return details("majority-log", 2_500)


def test_every_message_of_raft_and_every_command_opens_down_to_the_last_byte(of_raft):
    assert RAFT_NAMES | {"COMMAND"} <= {one["name"] for one in of_raft}
    for frame in of_raft:
        assert frame["problem"] is None, frame["name"]
        if frame["name"] in RAFT_NAMES:
            at = 0
            for leaf in leaves(frame["tree"]):
                assert leaf["position"] == at, (frame["name"], leaf)
                at += leaf["length"]
            assert at == len(bytes.fromhex(frame["hex"])), frame["name"]


def test_a_number_is_read_from_the_bytes_that_it_names(of_raft):
    frame = next(one for one in of_raft if one["name"] == "APPEND_ENTRIES")
    data = bytes.fromhex(frame["hex"])
    fields = {leaf["name"]: leaf for leaf in leaves(frame["tree"])}
    for name in ("term", "index", "commit_index", "previous_index"):
        begin, length = fields[name]["position"], fields[name]["length"]
        assert int.from_bytes(data[begin : begin + length], "big") == int(fields[name]["value"])
    assert [field["name"] for field in frame["tree"][-1]["children"]] == ["entry 1"]
    assert fields["data length"]["value"] == "0"


def test_a_refusal_says_why_and_an_answer_finds_its_command(of_raft):
    votes = [one for one in of_raft if one["name"] in ("PRE_VOTE", "VOTE")]
    verdicts = {leaf["value"] for one in votes for leaf in leaves(one["tree"]) if leaf["name"] == "verdict"}
    assert "0 (GRANTED)" in verdicts
    answer = next(one for one in of_raft if one["kind"] == "response")
    assert answer["reply_to_name"] == "COMMAND"
    said = {leaf["name"]: leaf["value"] for leaf in leaves(answer["tree"])}
    assert said["number"] == "1"
    assert said["status"] in ("committed", "not leader")


def test_copies_for_a_slave_say_where_they_lie_in_the_log():
    opened = {one["name"]: one for one in details("sync-master", 8_000) if one["name"].startswith("HA_")}
    assert set(opened) >= {"HA_REPORT", "HA_PIECE"}
    offset, size, piece = opened["HA_PIECE"]["tree"]
    assert (offset["position"], size["position"], piece["position"]) == (0, 8, 12)
    assert int(size["value"]) == piece["length"] == opened["HA_PIECE"]["size_bytes"] - 12
    assert opened["HA_REPORT"]["tree"][0]["length"] == 8
