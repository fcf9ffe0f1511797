"""The lab loop passes CPython's own tests for everything of asyncio that the engine uses."""

from __future__ import annotations

import asyncio
import importlib
import unittest

import pytest

from engine.runtime.lab.lab_loop import LabLoop

SUITES = ["context", "locks", "queues", "taskgroups", "timeouts", "waitfor"]


class LabPolicy(asyncio.DefaultEventLoopPolicy):
    """Makes lab loops, and counts them."""

    made = 0

    def new_event_loop(self) -> LabLoop:
        LabPolicy.made += 1
        return LabLoop.new()


@pytest.fixture
def lab_policy():
    previous = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(LabPolicy())
    yield
    asyncio.set_event_loop_policy(previous)


@pytest.mark.parametrize("suite", SUITES)
def test_the_lab_loop_passes_the_suite_of_cpython(suite, lab_policy):
    module = pytest.importorskip(f"test.test_asyncio.test_{suite}", reason="this Python ships without its tests")
    importlib.reload(module)
    before = LabPolicy.made
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    assert [text for _, text in result.failures + result.errors] == []
    assert result.testsRun > 0
    assert LabPolicy.made > before, "the suite ran on another loop"
