"""What both runtimes give besides network and disk: listeners, chance, identity, time."""

from __future__ import annotations

import asyncio
import functools
import threading

import pytest

from engine.runtime.lab.lab_runtime import LabMachines, LabNodeFailed, LabTimeLimit
from engine.runtime.live.live_runtime import LiveRuntime
from engine.runtime.port import DiskFault, Runtime
from tests.support.lab.both_worlds import run_scenario

MS_OF_2026 = 1_767_225_600_000


@pytest.fixture(params=["lab", "asyncio", "uvloop"])
def run(request, tmp_path):
    async def on_one(scenario, runtime):
        await scenario(runtime)

    return lambda scenario: run_scenario(request.param, tmp_path, lambda server, client: on_one(scenario, server))


def plain(first, second):
    return first + second


async def coroutine(first, second):
    await asyncio.sleep(0)
    return first + second


class AsyncCallable:
    async def __call__(self, first, second):
        return await coroutine(first, second)


@pytest.mark.parametrize(
    "listener",
    [
        plain,
        coroutine,
        AsyncCallable(),
        functools.partial(plain),
        functools.partial(coroutine),
        lambda first, second: coroutine(first, second=second),
    ],
    ids=["plain", "coroutine", "async callable", "partial", "partial of coroutine", "lambda"],
)
def test_every_kind_of_listener_is_called_with_its_arguments(run, listener):
    async def scenario(runtime):
        assert await runtime.call_listener(listener, 40, 2) == 42

    run(scenario)


def test_an_exception_of_a_listener_passes_through(run):
    class OwnError(Exception):
        pass

    def fail():
        raise OwnError("mine")

    async def scenario(runtime):
        with pytest.raises(OwnError, match="mine"):
            await runtime.call_listener(fail)

    run(scenario)


def test_chance_is_one_generator_for_each_purpose(run):
    async def scenario(runtime):
        first, second = runtime.random_for("ids"), runtime.random_for("delays")
        assert runtime.random_for("ids") is first
        assert [first.random() for _ in range(3)] != [second.random() for _ in range(3)]

    run(scenario)


def test_time_goes_on_while_waiting(run):
    async def scenario(runtime):
        wall_ms, monotonic_us = runtime.clock.now_ms(), runtime.clock.monotonic_us()
        await asyncio.sleep(0.02)
        assert runtime.clock.now_ms() - wall_ms >= 19
        assert runtime.clock.monotonic_us() - monotonic_us >= 19_000

    run(scenario)


def test_both_runtimes_fit_the_port(tmp_path):
    with LabMachines(seed=1) as world:
        nodes: list[Runtime] = [world.node("a"), LiveRuntime("a", tmp_path)]
        for node in nodes:
            assert node.node_name == "a"
            assert len(node.identity.host_ip.split(".")) == 4


def test_a_blocking_listener_does_not_block_a_live_node():
    async def scenario():
        runtime = LiveRuntime("client", None)
        release = threading.Event()
        blocked = asyncio.create_task(runtime.call_listener(release.wait, 30))
        assert await runtime.call_listener(plain, 1, 2) == 3
        release.set()
        assert await blocked
        await runtime.close()

    asyncio.run(scenario())


def test_a_live_node_without_a_data_folder_says_so():
    runtime = LiveRuntime("client", None)
    with pytest.raises(DiskFault, match="client was started without a data folder"):
        runtime.disk.write_whole("a", b"")


def test_a_seeded_live_node_repeats_its_choices():
    draws = [LiveRuntime("a", None, seed=7).random_for("ids").random() for _ in range(2)]
    assert draws[0] == draws[1]
    assert LiveRuntime("a", None).random_for("ids").random() != LiveRuntime("a", None).random_for("ids").random()


def test_a_lab_incarnation_draws_other_numbers_than_the_one_before():
    with LabMachines(seed=1) as world:
        first = world.node("a")
        draws = [first.random_for("ids").random()]
        second = world.restart("a")
        draws.append(second.random_for("ids").random())
        assert draws[0] != draws[1]
        assert first.identity != second.identity


def test_a_world_begins_at_a_fixed_time_and_a_node_may_believe_another():
    with LabMachines(seed=1) as world:
        right, wrong = world.node("a").clock, world.node("b").clock
        wrong.skew_ms = -60_000
        world.run_for(1_500)
        assert (right.now_ms(), wrong.now_ms()) == (MS_OF_2026 + 1_500, MS_OF_2026 - 58_500)
        assert right.monotonic_us() == wrong.monotonic_us() == 1_500_000


def test_what_a_spawned_task_starts_crashes_with_its_node():
    with LabMachines(seed=1) as world:
        ticks = []

        async def tick():
            while True:
                await asyncio.sleep(1)
                ticks.append(world.loop.now_us)

        async def start():
            return asyncio.create_task(tick())

        runtime = world.node("broker")
        runtime.run(start())
        runtime.spawn(tick(), "ticks")
        world.run_for(2_500)
        world.crash("broker")
        world.run_for(10_000)
        assert len(ticks) == 4
        with pytest.raises(AssertionError, match="restart it first"):
            world.node("broker")


def test_run_until_names_what_failed_when_its_limit_is_over():
    with LabMachines(seed=1) as world:

        async def fail():
            raise ValueError("no such topic")

        world.node("client").spawn(fail(), "producer")
        with pytest.raises(LabTimeLimit, match=r"not reached within 500 ms.*producer.*no such topic"):
            world.run_until(lambda: False, limit_ms=500)
        assert world.loop.now_us == 500_000


def test_run_stops_at_a_failing_callback_unless_reported_otherwise():
    def begin(world):
        async def work():
            asyncio.get_running_loop().call_soon(lambda: 1 // 0)
            await asyncio.sleep(1)
            return "done"

        return world.node("a").run(work())

    with LabMachines(seed=1) as world, pytest.raises(LabNodeFailed, match="ZeroDivisionError"):
        begin(world)
    with LabMachines(seed=1, raise_failures=False) as world:
        assert begin(world) == "done"
        assert [failure.actor for failure in world.loop.failures.failures] == ["a/run"]


def test_a_journal_keeps_the_newest_entries_and_hashes_all():
    def run_with(limit):
        with LabMachines(seed=1, journal_limit=limit) as world:
            world.run(asyncio.sleep(0))
            for _ in range(50):
                world.run(asyncio.sleep(1))
            return world.journal

    short, whole = run_with(20), run_with(10_000)
    assert len(short.entries) <= 20
    assert short.entries == whole.entries[-len(short.entries) :]
    assert short.dropped + len(short.entries) == len(whole.entries)
    assert short.hash == whole.hash
    assert [entry.number for entry in whole.entries] == list(range(1, len(whole.entries) + 1))


def test_entries_of_a_journal_are_read_like_a_list():
    with LabMachines(seed=1) as world:
        world.run(asyncio.sleep(0))
        entries = world.journal.entries
        before = len(entries)
        world.run(asyncio.sleep(1))
        assert len(entries) > before, "it grows with the journal"
        assert entries[0].number == 1
        assert entries[-1] == list(entries)[-1]
        assert entries[1:3] == list(entries)[1:3]
        assert entries == list(entries)
        assert entries != list(entries)[1:]
        assert repr(entries[0]).startswith("JournalEntry(number=1")


def test_the_timers_that_run_out_next_come_first():
    with LabMachines(seed=1) as world:
        loop = world.loop
        late, soon, never = loop.call_later(9, print), loop.call_later(1, print), loop.call_later(2, print)
        never.cancel()
        assert loop.schedule.next_timers(5) == [soon, late]
        assert loop.schedule.next_timers(1) == [soon]


def test_causes_lead_back_to_what_scheduled_an_event():
    with LabMachines(seed=1) as world:

        async def parent():
            task = asyncio.create_task(asyncio.sleep(1), name="child")
            await task

        world.node("a").run(parent())
        entries = {entry.number: entry for entry in world.journal.entries}
        child = next(entry for entry in entries.values() if entry.actor == "a/child")
        assert child.label == "starts"
        assert entries[child.cause].actor == "a/run"
        assert entries[1].cause == 0
