"""A run is a function of scenario, seed and commands: repeated, forked, exported, linked, stopped."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import zlib
from contextlib import nullcontext
from pathlib import Path

import pytest

from engine.lab.run.recording import EVENTS_MAX, Recording, TimedCommand, parse_export, parse_link
from engine.lab.run.run import LabRun
from engine.lab.run.setting_fork import SettingFork
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.errors import CommandRefused, RecordingRefused, RunLimitReached, ScenarioError, UnknownScenario
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import SECOND_CONSUMER, apply, run_to_ms, small, successes

PROJECT = Path(__file__).resolve().parent.parent.parent.parent.parent


def eventful() -> LabRun:
    """A run with commands of several kinds, between events and between timers."""
    run = LabRun(small(SECOND_CONSUMER), seed=7)
    run.run_events(300)
    apply(run, "link-loss", "B1<->C1", ratio=0.2)
    apply(run, "link-reorder", "B1->C2", ratio=0.3)
    run_to_ms(run, 1_111)
    apply(run, "crash-power", "B1", torn=True)
    run_to_ms(run, 1_700)
    apply(run, "restart", "B1")
    apply(run, "add-consumer", "C3", like="C1")
    run.run_events(200)
    apply(run, "hold", "C2/pull message service", ms=300)
    apply(run, "kill-consumer", "C1")
    run_to_ms(run, 9_000)
    apply(run, "heal")
    return run_to_ms(run, 20_000)


# ------------------------------------------------------------------------------------------------------ same again

REPEAT = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from engine.lab.run.run import LabRun
with LabRun.load(json.load(sys.stdin)) as run:
    print(json.dumps([run.event_number, run.journal_hash, run.is_faithful]))
"""


def test_another_hash_seed_changes_nothing_in_an_eventful_run():
    """Those without commands: see ``test_golden_journals.py``."""
    with eventful() as run:
        exported = run.export()
    outputs = [
        subprocess.run(
            [sys.executable, "-c", REPEAT],
            cwd=PROJECT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            input=json.dumps(exported),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "4242")
    ]
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0]) == [exported["event"], exported["journal_hash"], True]


def test_another_seed_gives_another_run():
    hashes = []
    for seed in (1, 2):
        with LabRun(small(), seed) as run:
            run.run_events(500)
            hashes.append(run.journal_hash)
    assert hashes[0] != hashes[1]


def test_steps_slices_and_one_go_come_to_the_same():
    with LabRun(small()) as steps, LabRun(small()) as slices, LabRun(small(), check=False) as whole:
        while steps.event_number < 700:
            assert steps.step()
        while slices.event_number < 700:
            slices.run_to_time(slices.now_us + 7_000, 700 - slices.event_number)
        assert whole.run_events(700) == 700
        assert steps.journal_hash == slices.journal_hash == whole.journal_hash


def test_a_command_is_part_of_the_hash():
    with LabRun(small()) as first, LabRun(small()) as second:
        apply(first, "slow-fsync", "B1", ms=2)
        assert first.journal_hash != second.journal_hash


def test_a_run_ends_with_its_time():
    with LabRun(small()) as run:
        run.run_events(100_000)
        assert run.is_over
        assert run.now_us == 30_000_000
        assert not run.step()
        assert run.violations == []
        assert sorted(successes(run), key=lambda key: int(key[2:])) == [f"k-{number}" for number in range(20)]


# ------------------------------------------------------------------------------------------------- past and forks


def test_a_fork_of_the_past_is_the_past():
    with LabRun(small()) as run:
        hashes = {0: run.journal_hash}
        run.on_event.append(lambda number: hashes.__setitem__(number, run.journal_hash))
        run.run_events(400)
        apply(run, "crash", "B1")
        run.run_events(50)
        for event in (0, 1, 37, 399, 450):
            with run.fork_at(event) as fork:
                assert (fork.event_number, fork.journal_hash) == (event, hashes[event])
        with run.fork_at(400) as fork:
            assert fork.world.nodes["B1"].status == "crashed"
            assert fork.commands == run.commands
        with run.fork_at(399) as fork:
            assert fork.commands == []
            assert fork.world.nodes["B1"].status == "running"


def test_a_fork_goes_its_own_way():
    with LabRun(small()) as run:
        run.run_events(600)
        before = run.journal_hash
        with run.fork_at(300) as fork:
            apply(fork, "crash", "P1")
            fork.run_events(5_000)
            assert len(successes(fork)) < 20
        assert run.journal_hash == before


def test_a_fork_of_now_stands_at_the_same_virtual_time():
    with LabRun(small()) as run:
        run.run_events(300)
        run.run_to_time(run.now_us + 1_234)
        with run.fork_at(run.event_number) as fork:
            assert (fork.now_us, fork.journal_hash) == (run.now_us, run.journal_hash)


def test_a_command_in_a_repeated_run_makes_it_forget_what_was_recorded_for_later():
    commands = [
        TimedCommand(event, 0, parse_command({"kind": kind, "target": "B1"}))
        for event, kind in ((100, "crash"), (200, "restart"))
    ]
    with LabRun(small(), commands=commands) as run:
        run.run_events(150)
        assert run.is_replaying
        apply(run, "link-delay", "P1->B1", ms=1)
        assert not run.is_replaying
        run.run_events(200)
        assert run.world.nodes["B1"].status == "crashed"


def fork_with(run: LabRun, setting: Command) -> LabRun:
    fork = SettingFork(run, setting)
    while not fork.advance(EVENTS_MAX):
        pass
    return fork.run


def test_a_setting_from_the_beginning_forks_the_past_and_keeps_the_later_commands():
    with LabRun(small()) as run:
        run_to_ms(run, 1_000)
        apply(run, "crash", "B1")
        run_to_ms(run, 1_500)
        apply(run, "restart", "B1")
        run_to_ms(run, 2_000)
        setting = parse_command({"kind": "setting", "target": "C1", "name": "pullBatchSize", "value": 1})
        with fork_with(run, setting) as fork:
            assert fork.now_us == run.now_us
            assert fork.world.consumers()[0].consumer.config.pull_batch_size == 1
            assert [timed.command.kind for timed in fork.commands] == ["setting", "crash", "restart"]
            assert [timed.time_us for timed in fork.commands] == [0, 1_000_000, 1_500_000]
            again = parse_command({"kind": "setting", "target": "C1", "name": "pullBatchSize", "value": 2})
            with fork_with(fork, again) as other:
                assert other.world.consumers()[0].consumer.config.pull_batch_size == 2
                assert [timed.command.kind for timed in other.commands] == ["setting", "crash", "restart"]
        with pytest.raises(CommandRefused, match="only settings"):
            SettingFork(run, parse_command({"kind": "crash", "target": "B1"}))


def test_what_piled_up_at_a_paused_node_comes_in_the_same_order_when_the_run_is_repeated():
    """Virtual time passed over the node's timers in slices at first, and passes over them in one go now."""
    for seed in range(8):
        with LabRun(small(SECOND_CONSUMER), seed) as run:
            run.run_events(150 + 20 * seed)
            apply(run, "pause-node", "B1")
            apply(run, "hold", "C1/pull message service", ms=2_500)
            for _ in range(30):
                run.run_to_time(run.now_us + 100_000)
            apply(run, "pause-node", "C2")
            run.run_to_time(run.now_us + 2_000_000, 7)
            apply(run, "resume-node", "B1")
            apply(run, "release", "C1/offset persister")
            apply(run, "resume-node", "C2")
            run.run_events(300)
            with run.fork_at(run.event_number) as fork:
                assert fork.journal_hash == run.journal_hash


# ---------------------------------------------------------------------------------------------------- file and link


def test_an_exported_run_comes_back_as_it_was():
    with eventful() as run:
        exported = json.loads(json.dumps(run.export()))
        with LabRun.load(exported) as again:
            assert again.is_faithful
            assert again.commands == run.commands
            assert (again.event_number, again.now_us) == (run.event_number, run.now_us)
            assert again.journal_hash == run.journal_hash
            assert again.world.history.consumes_ended == run.world.history.consumes_ended
        exported["journal_hash"] = hashlib.sha256().hexdigest()
        with LabRun.load(exported) as otherwise:
            assert not otherwise.is_faithful


def test_a_link_brings_the_run_elsewhere():
    with eventful() as run:
        link = run.link()
        assert set(link) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        with LabRun.replay(parse_link(link)) as again:
            assert again.journal_hash == run.journal_hash


def test_the_link_of_a_scenario_that_comes_along_only_names_it():
    with LabRun(load_scenario("hello")) as run:
        run.run_events(50)
        apply(run, "crash", "B1")
        link = run.link()
        assert len(link) < 200
        recording = parse_link(link)
        assert (recording.scenario.name, recording.is_changed) == ("hello", False)
        with LabRun.replay(recording) as again:
            assert again.journal_hash == run.journal_hash


def exported_small(**changes: object) -> dict[str, object]:
    with LabRun(small()) as run:
        run.run_events(20)
        return {**run.export(), **changes}


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"format": "other"}, "format: 'other' is not allowed; allowed: glassmq-lab-run"),
        ({"version": 2}, "version: 2 is not allowed; allowed: an integer from 1 to 1"),
        ({"scenario": 5}, "scenario: 5 is not allowed; allowed: a text of 1 to 60 characters"),
        ({"seed": "1"}, "seed: "),
        ({"seed": -1}, "seed: "),
        ({"event": 10**9}, "0 to 500000"),
        ({"time_us": True}, "time_us: True is not allowed; allowed: an integer"),
        ({"journal_hash": "x" * 65}, "journal_hash: has 65 characters; allowed: a text of 0 to 64 characters"),
        ({"commands": {}}, "commands: {} is not allowed; allowed: a list of 0 to 500 entries"),
        ({"commands": [5]}, "commands[0]: 5 is not allowed; allowed: an object with event, time_us, command"),
        ({"commands": [{}]}, "commands[0].event: is missing; allowed: an integer from 0 to 500000"),
        (
            {"commands": [{"event": -1, "time_us": 0, "command": {"kind": "heal"}}]},
            "commands[0].event: -1 is not allowed",
        ),
        (
            {"commands": [{"event": 1, "time_us": 0, "command": {"kind": "heal"}}] * 501},
            "commands: has 501 entries; allowed: a list of 0 to 500 entries",
        ),
        (
            {
                "commands": [
                    {"event": 5, "time_us": 0, "command": {"kind": "heal"}},
                    {"event": 4, "time_us": 0, "command": {"kind": "heal"}},
                ]
            },
            "must be in order",
        ),
    ],
)
def test_a_damaged_export_is_refused(changes, part):
    with pytest.raises(RecordingRefused) as caught:
        parse_export(exported_small(**changes))
    assert part in str(caught.value)


def test_an_export_with_a_broken_scenario_or_an_impossible_command_is_refused():
    with pytest.raises(ScenarioError):
        parse_export(exported_small(text="nodes: {}"))
    crash = {"event": 5, "time_us": 0, "command": {"kind": "crash", "target": "X"}}
    with pytest.raises(RecordingRefused, match="the command at event 5 cannot be applied: there is no node 'X'"):
        LabRun.load(exported_small(commands=[crash]))


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a b", "", "x" * 60 + "y"])
def test_a_name_that_could_lead_elsewhere_is_refused_in_a_file_and_in_a_link(name):
    with pytest.raises(RecordingRefused, match=r"not a valid scenario name|a text of 1 to 60"):
        parse_export(exported_small(scenario=name))
    content = json.dumps({"s": name, "x": "nodes: {}", "n": 1, "e": 0, "t": 0, "c": []})
    with pytest.raises(RecordingRefused, match=r"not a valid scenario name|a text of 1 to 60"):
        parse_link(base64.urlsafe_b64encode(zlib.compress(content.encode())).decode().rstrip("="))


@pytest.mark.parametrize("fragment", ["", "%%%", "AAAA", "x" * 60_001, "ä"])
def test_a_damaged_link_is_refused(fragment):
    with pytest.raises(RecordingRefused):
        parse_link(fragment)


def test_a_link_with_a_part_or_a_command_of_a_later_version_is_refused():
    content = {"s": "hello", "n": 1, "e": 0, "t": 0, "c": []}
    for later in ({}, {"y": 1}, {"c": [[0, 0, {"kind": "heal"}, 1]]}, {"c": [[0, 0, {"kind": "not-yet-invented"}]]}):
        link = base64.urlsafe_b64encode(zlib.compress(json.dumps(content | later).encode())).decode().rstrip("=")
        with pytest.raises(RecordingRefused) if later else nullcontext():
            parse_link(link)


def test_a_link_that_is_cut_off_or_a_bomb_is_refused():
    with LabRun(small()) as run, pytest.raises(RecordingRefused):
        parse_link(run.link()[:-10])
    with pytest.raises(RecordingRefused):
        parse_link(base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000)).decode())
    for name, refusal in (("../../etc/passwd", RecordingRefused), ("nobody-made-it", UnknownScenario)):
        link = base64.urlsafe_b64encode(
            zlib.compress(b'{"s": "%s", "n": 1, "e": 0, "t": 0, "c": []}' % name.encode())
        ).decode()
        with pytest.raises(refusal):
            parse_link(link)


def test_a_run_has_a_bounded_number_of_commands():
    with LabRun(small()) as run:
        for _ in range(500):
            apply(run, "heal")
        with pytest.raises(RunLimitReached, match="at most 500 commands"):
            apply(run, "heal")


# --------------------------------------------------------------------------------------------------------- stopping


@pytest.mark.parametrize(
    ("condition", "check"),
    [
        (
            Condition(ConditionKind.LABEL, "C1", "updates the offset"),
            lambda run: run.world.lab.journal.entries[-1].label == "updates the offset",
        ),
        (
            Condition(ConditionKind.LABEL, "B1", "P1->B1"),
            lambda run: run.world.lab.journal.entries[-1].actor.startswith("P1->B1"),
        ),
        (
            Condition(ConditionKind.FRAME, "C1", "reply to pull_message"),
            lambda run: len(run.world.history.consumes_ended) == 0 and run.now_us > 100_000,
        ),
        (Condition(ConditionKind.SENT, "P1", "k-3"), lambda run: run.world.history.sends_returned[-1].key == "k-3"),
        (
            Condition(ConditionKind.CONSUME_BEGINS, "", "k-4"),
            lambda run: run.world.history.consumes_began[-1].key == "k-4",
        ),
        (
            Condition(ConditionKind.CONSUMED, "C1", "k-5"),
            lambda run: run.world.history.consumes_ended[-1].key == "k-5",
        ),
        (Condition(ConditionKind.COMMAND, "B1", "slow"), lambda run: run.now_us == 3_000_000),
        (Condition(ConditionKind.TIME, time_us=1_234_567), lambda run: run.now_us == 1_234_567),
    ],
    ids=lambda value: value.on.value if isinstance(value, Condition) else "",
)
def test_a_run_stops_when_the_condition_is_met(condition, check):
    with LabRun(small(extra="script: [{at_ms: 3000, kind: slow-fsync, target: B1, ms: 3}]\n")) as run:
        assert run.run_until(condition, 10_000)
        assert check(run)
        assert not run.is_over


def test_running_to_a_time_in_slices_runs_everything_that_is_due_by_then():
    start = Condition(ConditionKind.TIME, time_us=0)
    with LabRun(small()) as at_once, LabRun(small()) as in_slices:
        assert at_once.run_until(start, 10_000)
        while not in_slices.run_until(start, 1):
            pass
        assert in_slices.event_number == at_once.event_number > 1


def test_a_condition_that_is_never_met_ends_with_the_story_or_the_limit():
    with LabRun(small()) as run:
        never = Condition(ConditionKind.SENT, "P1", "no such key")
        assert not run.run_until(never, 10)
        assert run.event_number == 10
        assert not run.run_until(never, 100_000)
        assert run.is_over


def test_breakpoints_stop_only_those_who_ask_and_each_time_anew():
    extra = "breakpoints: [{on: sent, contains: k-1}, {on: time, time_ms: 2000}]\n"
    with LabRun(small(extra=extra)) as run:
        run.stops_at_breakpoints = True
        run.run_events(100_000)
        assert run.stopped_by == run.scenario.breakpoints[0]
        assert [send.key for send in run.world.history.sends_returned][-1] == "k-1"
        run.run_events(100_000)
        assert run.stopped_by is not None
        assert [send.key for send in run.world.history.sends_returned][-1] == "k-10"
        run.stops_at_breakpoints = False
        run.run_to_time(1_999_000)
        assert run.stopped_by is None
        run.stops_at_breakpoints = True
        run.run_events(100_000)
        # What happened while nobody asked does not count afterwards.
        assert run.stopped_by == run.scenario.breakpoints[1]
        assert 2_000_000 <= run.now_us < 2_200_000


def test_one_actor_is_stepped():
    with LabRun(small()) as run:
        run_to_ms(run, 1_000)
        for _ in range(3):
            assert run.step_actor("P1/sends T")
            assert run.world.lab.journal.entries[-1].actor == "P1/sends T"
        before = run.event_number
        assert not run.step_actor("P1/nobody")
        assert run.event_number > before


def test_hooks_learn_of_every_event():
    with LabRun(small()) as run:
        numbers: list[int] = []
        run.on_event.append(numbers.append)
        run.run_events(20)
        run.step()
        assert numbers == list(range(1, 22))


def test_a_recording_without_a_hash_is_taken_as_it_is():
    scenario = small()
    with LabRun.replay(Recording(scenario, 3, (), 10, 0)) as run:
        assert (run.event_number, run.seed, run.is_faithful) == (10, 3, True)
