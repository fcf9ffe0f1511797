"""Long-running loops and periodic actions: they repeat, fail loudly, and stop together."""

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.lab.lab_runtime import LabMachines


@pytest.fixture
def world():
    with LabMachines(seed=1) as lab_world:
        yield lab_world


def new_tasks():
    """Return background tasks, and a list for what they do."""
    return BackgroundTasks("broker"), []


def test_an_action_runs_again_and_again_at_its_interval(world):
    background, calls = new_tasks()

    async def begin():
        background.every(1_000, lambda: calls.append(world.loop.now_us // 1_000), "counts")

    world.node("broker").run(begin())
    world.run_for(3_500)
    assert calls == [1_000, 2_000, 3_000]


def test_the_first_call_may_come_at_another_time_and_an_interval_may_change(world):
    background, calls = new_tasks()
    interval_ms = [100]

    async def act():
        calls.append(world.loop.now_us // 1_000)
        interval_ms[0] *= 2

    async def begin():
        background.every(lambda: interval_ms[0], act, "slows down", first_after_ms=10)

    world.node("broker").run(begin())
    world.run_for(1_000)
    assert calls == [10, 210, 610]


def test_a_failing_action_is_logged_by_name_and_called_again(world, caplog):
    background, calls = new_tasks()

    def fail():
        calls.append("called")
        raise ValueError("disk on fire")

    async def begin():
        background.every(10, fail, "flushes")

    world.node("broker").run(begin())
    world.run_for(35)
    assert len(calls) == 3
    assert "broker: periodic action flushes failed" in caplog.text
    assert "disk on fire" in caplog.text


def test_a_failing_task_is_logged_and_reported(world, caplog):
    crashes = []
    background = BackgroundTasks("broker", on_crash=lambda name, failure: crashes.append((name, str(failure))))

    async def fail():
        await asyncio.sleep(0.01)
        raise ValueError("lost its way")

    async def begin():
        background.spawn(fail(), "reput loop")

    world.node("broker").run(begin())
    world.run_for(100)
    assert crashes == [("reput loop", "lost its way")]
    assert "broker: task reput loop failed" in caplog.text
    assert background.running == ()


def test_stop_ends_everything_and_waits_for_it(world):
    background, ended = new_tasks()

    async def loop_with_a_slow_end(name):
        try:
            await asyncio.sleep(3_600)
        finally:
            await asyncio.sleep(0.5)
            ended.append(name)

    async def work():
        for name in ("one", "two"):
            background.spawn(loop_with_a_slow_end(name), name)
        background.every(10, lambda: None, "ticks")
        await asyncio.sleep(0.1)
        assert background.running == ("one", "two", "ticks")
        await background.stop()
        assert ended == ["one", "two"]
        assert background.running == ()
        await background.stop()

    world.node("broker").run(work())


def test_after_stop_nothing_starts_any_more(world):
    background, _ = new_tasks()

    async def work():
        await background.stop()
        with pytest.raises(RuntimeError, match="broker is stopped: task late cannot start"):
            background.spawn(asyncio.sleep(1), "late")

    world.node("broker").run(work())


def test_a_task_may_stop_the_whole_it_belongs_to(world):
    background, ended = new_tasks()

    async def stopper():
        await background.stop()
        ended.append("stopper")

    async def begin():
        background.every(10, lambda: None, "ticks")
        background.spawn(stopper(), "stopper")

    world.node("broker").run(begin())
    world.run_for(100)
    assert ended == ["stopper"]
    assert background.running == ()


def test_the_result_of_a_spawned_task_is_to_be_had(world):
    background, _ = new_tasks()

    async def answer():
        return 42

    async def work():
        return await background.spawn(answer(), "answers")

    assert world.node("broker").run(work()) == 42


def test_a_clock_set_ahead_runs_what_is_due_then_without_a_wait(world):
    background, calls = new_tasks()

    async def begin():
        background.every(10_000, lambda: calls.append(world.loop.now_us // 1_000), "counts")

    async def advance(ms):
        background.advance(ms)

    node = world.node("broker")
    node.run(begin())
    world.run_for(1_000)
    node.run(advance(4_000))
    world.run_for(10_000)
    assert calls == [6_000]
    node.run(advance(120_000))
    world.run_for(1_000)
    assert calls == [6_000, 11_000], "called once, however far the clock went"
    world.run_for(10_000)
    assert calls == [6_000, 11_000, 21_000], "and then at its interval again"


def test_what_was_advanced_can_still_be_stopped(world):
    background, calls = new_tasks()

    async def begin():
        background.every(10_000, lambda: calls.append(1), "counts")

    async def advance_and_stop():
        background.advance(120_000)
        await background.stop()

    node = world.node("broker")
    node.run(begin())
    world.run_for(1_000)
    node.run(advance_and_stop())
    world.run_for(60_000)
    assert calls == []
    assert background.running == ()
