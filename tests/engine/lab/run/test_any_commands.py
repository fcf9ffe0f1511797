"""Whatever somebody does to a world: it is done or refused, the engine survives, and it can be repeated."""

from __future__ import annotations

import json
import random

import pytest

from engine.fields.field import Field
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import COMMANDS, Target, parse_command
from engine.lab.scenario.errors import CommandRefused
from tests.support.lab.lab_scenarios import SECOND_CONSUMER, small

NODES = ["N1", "B1", "P1", "C1", "C2", "C3"]


def any_value(chance: random.Random, field: Field) -> object:
    if field.kind == "integer":
        return chance.choice([int(field.low), 1, 5, 60])
    if field.kind == "number":
        return chance.choice([0, 0.1, 0.5, 1])
    if field.kind == "switch":
        return chance.random() < 0.5
    if field.kind == "choice":
        return chance.choice(field.allowed)
    if field.kind == "names":
        return chance.sample(NODES, chance.randint(1, 2))
    if field.kind == "pattern":
        return chance.choice(["", "", "10.0.0.*", "T", "g"])
    if field.kind == "text":
        return chance.choice(["C1", "C2", "pull_batch_size", "long_polling_enable", "heartbeat_broker_interval_ms"])
    return chance.choice([1, 5, True, 1_000, "x"])


def any_target(chance: random.Random, target: Target, run: LabRun) -> str:
    if target is Target.NOTHING:
        return ""
    if target in (Target.LINK, Target.ANY_LINK):
        return chance.choice(NODES) + chance.choice(["->", "<->"]) + chance.choice(NODES)
    if target is Target.ACTOR:
        return chance.choice([actor.name for actor in run.world.lab.actors()] or ["nobody"])
    return "T" if target is Target.TOPIC else chance.choice(NODES)


#: Seeds in which events pile up at paused nodes and held tasks while time passes in slices.
PILED_UP = (123, 214, 219, 274)


@pytest.mark.parametrize("seed", [*range(8), *PILED_UP])
def test_any_commands_are_done_or_refused_and_the_run_can_be_repeated(seed):
    chance = random.Random(seed)
    done: dict[str, int] = {}
    with LabRun(small(SECOND_CONSUMER), seed, check=False) as run:
        for _ in range(60):
            run.run_to_time(run.now_us + chance.choice([0, 3_000, 100_000, 1_000_000]), chance.randint(1, 400))
            kind = chance.choice([*COMMANDS, "restart", "resume-node", "heal"])
            fields = {field.name: any_value(chance, field) for field in COMMANDS[kind].fields}
            target = any_target(chance, COMMANDS[kind].target, run)
            try:
                run.apply(parse_command({"kind": kind, "target": target, **fields}))
                done[kind] = done.get(kind, 0) + 1
            except CommandRefused:
                continue
        assert len(done) > 6
        assert not run.world.lab.loop.failures.failures
        with LabRun.load(json.loads(json.dumps(run.export()))) as again:
            assert again.is_faithful
