"""The study ``acknowledgement``."""

from __future__ import annotations

from app.commands.lab.studies.acknowledgement import table_of
from engine.lab.sweep.acknowledgement import Acknowledged, FailureDamage, FailureKind, PolicyFigures


def test_a_row_tells_each_loss_and_how_many_copies_there_are():
    damages = {FailureKind.KILL: FailureDamage(40, 0, 0, 0), FailureKind.POWER_CUT: FailureDamage(40, 9, 7, 1_250_000)}
    damages |= {FailureKind.TORN_WRITE: FailureDamage(40, 0, 0, 0), FailureKind.GONE: FailureDamage(40, 0, 0, 0)}
    kinds = (Acknowledged.IN_MEMORY, Acknowledged.BY_A_REPLICA)
    _, _, memory, replica = table_of([PolicyFigures(kind, 4_250, damages) for kind in kinds]).markdown().splitlines()
    cut = "something in 9 of 40 runs, at most 7 messages, the last 1.2 s"
    nothing = "nothing, in 40 runs"
    losses = f"{nothing} | {cut} | {nothing} | {nothing} | 4.2 ms |"
    assert memory == f"| in memory (async flush) | {losses}"
    assert replica == f"| by a replica (async flush, 2 copies) | {losses}"
