"""Commands as data: what is read, what is refused."""

from __future__ import annotations

import json

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import COMMANDS, Target, parse_command
from engine.lab.scenario.errors import CommandRefused
from engine.lab.world.faults import apply_command
from tests.support.lab.lab_scenarios import small

#: A correct command of every kind, for the small scenario.
EXAMPLES: dict[str, dict[str, object]] = {
    "add-consumer": {"target": "C2", "like": "C1"},
    "change-membership": {"target": "R1"},
    "clock-skew": {"target": "B1", "ms": -500},
    "commit-half": {"target": "B1", "message": "k-1", "anyway": True},
    "crash": {"target": "B1"},
    "crash-power": {"target": "B1", "torn": True},
    "delay-next": {"target": "", "frame": "PULL_MESSAGE", "ms": 5},
    "disk-free": {"target": "B1"},
    "drop-caches": {"target": "B1"},
    "disk-full": {"target": "B1"},
    "drop-frame": {"target": "P1->B1", "due_us": 1_000},
    "fire-timer": {"target": "P1/sends T", "due_us": 1_000},
    "drop-next": {"target": "B1->C1", "frame": "reply to PULL_MESSAGE"},
    "duplicate-next": {"target": "", "frame": ""},
    "clear-faults": {"target": "B1"},
    "fail-fsync": {"target": "B1"},
    "fault": {"target": "B1", "what": "drop", "frame": "HEART_BEAT", "client": "10.0.0.3*", "times": 2},
    "give-lock": {"target": "B1", "group": "g", "topic": "T", "queue_id": 0, "to": "C1"},
    "group-lock": {"target": "B1", "group": "g"},
    "forced-unlock": {"target": "C1", "queue_id": 0},
    "free-record": {"target": "D1", "scope": "shop", "key": "order-0"},
    "heal": {},
    "heal-link": {"target": "P1<->B1"},
    "hold": {"target": "P1/sends T", "ms": 100},
    "kill-consumer": {"target": "C1"},
    "link-delay": {"target": "P1<->B1", "ms": 100},
    "link-duplicate": {"target": "P1->B1", "ratio": 0.5},
    "link-loss": {"target": "P1->B1", "ratio": 1},
    "link-reorder": {"target": "P1->B1", "ratio": 0.5},
    "listener": {"target": "C1", "result": "later", "duration_ms": 5},
    "lock-switch": {"target": "", "lock": "message-queue-lock", "on": False},
    "partition": {"left": ["B1"], "right": ["C1", "P1"], "one_way": True},
    "pause-node": {"target": "B1"},
    "queue-count": {"target": "T", "n": 8},
    "release": {"target": "P1/sends T"},
    "resend-dead-letter": {"target": "B1", "group": "g", "message": "k-1", "to": "topic", "anyway": True},
    "resume-consumer": {"target": "C1"},
    "restart": {"target": "B1"},
    "resume-half": {"target": "B1", "message": "k-1"},
    "resume-node": {"target": "B1"},
    "rollback-half": {"target": "B1", "message": "k-1"},
    "setting": {"target": "B1", "name": "long_polling_enable", "value": False},
    "slow-fsync": {"target": "B1", "ms": 100},
    "start-consumer": {"target": "C1"},
    "stop-consumer": {"target": "C1"},
    "torn-write": {"target": "B1"},
    "wipe": {"target": "R1"},
    "flip-in-log": {"target": "R1", "bit": 3},
    "flip-in-state": {"target": "R1", "bit": 3},
    "lose-last-second": {"target": "R1"},
}


def test_there_is_an_example_of_every_kind():
    assert sorted(EXAMPLES) == sorted(COMMANDS)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_command_survives_the_way_through_json(kind):
    command = parse_command({"kind": kind, **EXAMPLES[kind]})
    assert command.kind == kind
    assert parse_command(json.loads(json.dumps(command.to_dict()))) == command


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_kind_speaks_both_languages(kind):
    for texts in (COMMANDS[kind].name, COMMANDS[kind].what):
        assert texts["en"]
        assert any("\u4e00" <= character <= "\u9fff" for character in texts["zh"])


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (None, "object"),
        ([], "object"),
        ({}, "command.kind: is missing; allowed: crash"),
        ({"kind": ["crash"]}, "command.kind: ['crash'] is not allowed"),
        ({"kind": "explode"}, "'explode' is not allowed; allowed: crash"),
        ({"kind": "crash"}, "crash.target: is missing; allowed: the name of a node"),
        ({"kind": "crash", "target": 5}, "crash.target: 5 is not allowed; allowed: the name of a node"),
        ({"kind": "crash", "target": "x" * 201}, "at most 200"),
        ({"kind": "crash", "target": "B1", "force": True}, "crash.force: is not allowed here; allowed: kind"),
        ({"kind": "heal", "target": "B1"}, "heal.target: 'B1' is not allowed; allowed: nothing"),
        ({"kind": "clock-skew", "target": "B1"}, "clock-skew.ms: is missing; allowed: an integer from"),
        ({"kind": "clock-skew", "target": "B1", "ms": 1.5}, "integer from -86400000"),
        ({"kind": "clock-skew", "target": "B1", "ms": True}, "integer"),
        ({"kind": "slow-fsync", "target": "B1", "ms": -1}, "from 0"),
        ({"kind": "link-loss", "target": "A->B", "ratio": 1.1}, "a number from 0 to 1"),
        ({"kind": "link-loss", "target": "A->B", "ratio": float("nan")}, "a number from 0 to 1"),
        ({"kind": "link-loss", "target": "A->B", "ratio": "1"}, "a number from 0 to 1"),
        ({"kind": "link-loss", "target": "A->B", "ratio": 10**400}, "a number from 0 to 1"),
        ({"kind": "link-loss", "target": "A->B", "ration": 1}, "(did you mean ratio?); allowed: kind, target, ratio"),
        ({"kind": "crash-power", "target": "B1", "torn": 1}, "true or false"),
        ({"kind": "listener", "target": "C1", "result": "maybe"}, "success, later, throws, hangs"),
        ({"kind": "drop-next", "frame": "PUSH"}, "empty (= any), reply, SEND_MESSAGE"),
        ({"kind": "partition", "left": [], "right": ["B1"]}, "a list of 1 to 100 texts"),
        ({"kind": "partition", "left": "B1", "right": ["B1"]}, "a list of 1 to 100 texts"),
        ({"kind": "partition", "left": [5], "right": ["B1"]}, "left[0]: 5 is not allowed; allowed: a text of 1"),
        ({"kind": "add-consumer", "target": "C2", "like": ""}, "1 to 200 characters"),
        ({"kind": "setting", "target": "B1", "name": "x", "value": [1]}, "finite number"),
        ({"kind": "setting", "target": "B1", "name": "x", "value": float("inf")}, "finite number"),
        ({"kind": "setting", "target": "B1", "name": "x", "value": 1 << 60}, "finite number"),
        ({"kind": "queue-count", "target": "T", "n": 65}, "from 1 to 64"),
    ],
)
def test_a_malformed_command_is_refused_with_what_is_allowed(data, part):
    with pytest.raises(CommandRefused) as caught:
        parse_command(data)
    assert part in str(caught.value)


@pytest.mark.parametrize("kind", [kind for kind in EXAMPLES if COMMANDS[kind].target is not Target.NOTHING])
def test_a_target_that_is_not_there_is_refused_and_nothing_happens(kind):
    fields = {"target": "nobody->nowhere" if "->" in str(EXAMPLES[kind]["target"]) else "no/body"}
    if kind in ("delay-next", "duplicate-next"):
        fields["target"] = "nobody->nowhere"
    with LabRun(small()) as run:
        run.run_to_time(1_000_000)
        before = run.journal_hash
        with pytest.raises(CommandRefused):
            apply_command(run.world, parse_command({"kind": kind, **EXAMPLES[kind], **fields}))
        assert run.journal_hash == before
        assert run.world.history.commands == []
