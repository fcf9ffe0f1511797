"""Runs that are freed when the test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from engine.lab.run.run import LabRun
from tests.support.lab.lab_scenarios import run_to_ms, small


@pytest.fixture
def started() -> Iterator[Callable[..., LabRun]]:
    """``started(*replacements, to_ms=1000, extra="")``: a run of the small scenario at that time."""
    runs: list[LabRun] = []

    def start(*replacements: tuple[str, str], to_ms: int = 1_000, extra: str = "") -> LabRun:
        runs.append(LabRun(small(*replacements, extra=extra)))
        return run_to_ms(runs[-1], to_ms)

    yield start
    for run in runs:
        run.close()
