"""Time, actors, pauses, holds, crashes and the end of a lab loop."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from engine.runtime.lab.lab_actor import current_actor
from engine.runtime.lab.lab_loop import LabDeadlock, LabLoop
from engine.runtime.step import step, step_hook


@pytest.fixture
def loop():
    lab_loop = LabLoop.new()
    yield lab_loop
    lab_loop.close()


async def record(trace, name, *labels):
    for label in labels:
        await step(label)
        trace.append((name, label))


def test_an_hour_of_timers_passes_at_once_and_to_the_microsecond(loop):
    async def work():
        await asyncio.sleep(3_600)
        await asyncio.sleep(0.000_001)

    loop.run_until_complete(work())
    assert loop.now_us == 3_600_000_001


def test_timers_due_at_the_same_time_run_in_the_order_in_which_they_were_set(loop):
    order: list[object] = []
    for number in range(20):
        loop.call_later(0.5, order.append, number)
    loop.run_events(100)
    assert order == list(range(20))


def test_a_timer_that_is_due_already_is_not_starved_by_a_task_that_never_waits(loop):
    async def spin(done):
        while not done:
            await asyncio.sleep(0)

    done: list[object] = []
    loop.call_later(0, done.append, True)
    loop.run_until_complete(spin(done))


def test_a_wait_for_what_cannot_happen_is_a_deadlock_not_a_hang(loop):
    with pytest.raises(LabDeadlock, match="cannot finish"):
        loop.run_until_complete(loop.create_future())


def test_run_events_leaves_the_clock_at_its_limit(loop):
    fired: list[object] = []
    loop.call_later(2, fired.append, 2)
    assert loop.run_events(10, until_us=1_500_000) == 0
    assert loop.now_us == 1_500_000
    assert fired == []
    loop.run_events(10, until_us=2_000_000)
    assert fired == [2]


def test_a_step_lets_another_actor_run_first(loop):
    trace: list[object] = []
    for name in "ab":
        loop.create_task(record(trace, name, "one", "two"), name=name)
    loop.run_events(100)
    assert trace == [("a", "one"), ("b", "one"), ("a", "two"), ("b", "two")]


def test_the_label_of_a_step_belongs_to_the_event_in_which_it_happens(loop):
    seen = []
    loop.on_event = lambda event: seen.append((event.actor.name, event.label))
    loop.create_task(record([], "a", "takes messages", "commits"), name="a")
    loop.run_events(100)
    assert seen == [("world/a", "starts"), ("world/a", "takes messages"), ("world/a", "commits")]


def test_a_task_is_named_by_its_function_and_counted_per_node(loop):
    async def work():
        task = asyncio.current_task()
        assert task is not None
        return task.get_name()

    async def both():
        return await asyncio.gather(work(), work())

    names = loop.run_until_complete(both())
    assert [name.rpartition(".")[2] for name in names] == ["work-1", "work-2"]


def test_a_task_inherits_the_node_of_its_creator(loop):
    async def child():
        actor = current_actor.get()
        assert actor is not None
        return actor.node.name

    async def parent():
        return await asyncio.create_task(child(), name="given")

    node = loop.start_node("C1")
    task = loop.create_task(parent(), node=node)
    assert loop.run_until_complete(task) == "C1"
    assert [known.actor.name for known in node.tasks] == [f"C1/{task.get_name()}", "C1/given"]


def test_a_crash_runs_no_finally_and_no_except(loop):
    trace: list[object] = []

    async def work():
        try:
            trace.append("begins")
            await asyncio.sleep(1)
        except BaseException:
            trace.append("except")
            raise
        finally:
            trace.append("finally")

    node = loop.start_node("B1")
    loop.create_task(work(), node=node)
    loop.run_events(10, until_us=500_000)
    loop.crash(node)
    gc.collect()
    loop.run_events(10, until_us=5_000_000)
    assert trace == ["begins"]


def test_what_a_crashed_node_awaits_wakes_nobody(loop):
    node = loop.start_node("B1")
    future = loop.create_future()
    trace: list[object] = []

    async def work():
        trace.append(await future)

    loop.create_task(work(), node=node)
    loop.run_events(10)
    loop.crash(node)
    future.set_result("too late")
    assert loop.run_events(10) == 0
    assert trace == []


def test_a_node_that_crashes_itself_does_nothing_after_its_next_await(loop):
    node = loop.start_node("B1")
    trace: list[object] = []

    async def work():
        loop.crash(node)
        asyncio.get_running_loop().create_task(record(trace, "child", "runs"))
        trace.append("before the await")
        await asyncio.sleep(0)
        trace.append("after")

    loop.create_task(work(), node=node)
    loop.run_events(10, until_us=1_000_000)
    assert trace == ["before the await"]


def test_a_restarted_node_is_a_new_incarnation(loop):
    first = loop.start_node("B1")
    with pytest.raises(AssertionError, match="is running"):
        loop.start_node("B1")
    loop.crash(first)
    second = loop.start_node("B1")
    assert (second.incarnation, second.alive, first.alive) == (1, True, False)


def test_a_pause_piles_up_timers_and_others_go_on(loop):
    trace: list[tuple[str, int]] = []

    async def tick(name):
        while True:
            await asyncio.sleep(1)
            trace.append((name, loop.now_us // 1_000_000))

    nodes = [loop.start_node("A"), loop.start_node("B")]
    for node in nodes:
        loop.create_task(tick(node.name), node=node)
        loop.call_later(4.5, lambda: None)
    loop.run_events(100, until_us=1_000_000)
    loop.pause(nodes[0])
    loop.run_events(100, until_us=3_500_000)
    loop.resume(nodes[0])
    loop.run_events(100, until_us=4_500_000)
    assert [entry for entry in trace if entry[0] == "B"] == [("B", second) for second in (1, 2, 3, 4)]
    # The tick of second 2 comes when the pause ends, the next one a second later.
    assert [entry for entry in trace if entry[0] == "A"] == [("A", 1), ("A", 3), ("A", 4)]


def test_several_timers_of_a_paused_node_all_run_in_order_when_it_goes_on(loop):
    node = loop.start_node("A")
    order: list[object] = []

    async def set_timers():
        for second in (3, 1, 2):
            asyncio.get_running_loop().call_later(second, order.append, second)

    loop.run_until_complete(loop.create_task(set_timers(), node=node))
    loop.pause(node)
    loop.run_events(100, until_us=10_000_000)
    assert order == []
    loop.resume(node)
    loop.run_events(100)
    assert order == [1, 2, 3]


def test_a_held_actor_waits_while_its_node_goes_on(loop):
    trace: list[object] = []
    tasks = [loop.create_task(record(trace, name, "one", "two"), name=name) for name in "ab"]
    loop.run_events(2)
    loop.hold(tasks[0].actor, 1_000)
    loop.run_events(100, until_us=999)
    assert trace == [("b", "one"), ("b", "two")]
    loop.run_events(100, until_us=1_000)
    assert trace[2:] == [("a", "one"), ("a", "two")]


def test_a_second_hold_extends_the_first(loop):
    trace: list[object] = []
    task = loop.create_task(record(trace, "a", "one"), name="a")
    loop.hold(task.actor, 1_000)
    loop.run_events(0)
    loop.hold(task.actor, 5_000)
    loop.run_events(100, until_us=4_999)
    assert trace == []
    loop.release(task.actor)
    loop.run_events(100)
    assert trace == [("a", "one")]


def test_an_exception_in_a_callback_is_kept_and_the_loop_goes_on(loop):
    def fail():
        raise ValueError("broken")

    loop.call_soon(fail)
    loop.call_soon(lambda: None)
    assert loop.run_events(10) == 2
    (failure,) = loop.failures.failures
    assert (failure.event_number, failure.actor, str(failure.exception)) == (1, "driver", "broken")


def test_what_the_garbage_collector_reports_stays_out_of_the_failures(loop):
    async def fail():
        raise ValueError("nobody looks")

    async def work():
        task = asyncio.create_task(fail())
        await asyncio.sleep(1)
        assert task.done()

    loop.run_until_complete(work())
    for node in loop.nodes.values():
        node.tasks.clear()
    gc.collect()
    assert loop.failures.failures == []
    assert any("nobody looks" in report for report in loop.failures.garbage_reports)


def test_threads_are_refused(loop):
    with pytest.raises(NotImplementedError, match="no threads"):
        loop.run_in_executor(None, print)
    with pytest.raises(NotImplementedError, match="no threads"):
        loop.call_soon_threadsafe(print)


def test_nothing_of_the_stepping_thread_leaks_into_a_world(loop):
    async def hook(label):
        raise AssertionError("the host's own hook was called")

    token = step_hook.set(hook)
    try:
        trace: list[object] = []
        loop.run_until_complete(record(trace, "a", "one"))
        assert trace == [("a", "one")]
    finally:
        step_hook.reset(token)


def test_two_worlds_take_turns_in_one_thread():
    loops = [LabLoop.new(), LabLoop.new()]
    traces: list[list[object]] = [[], []]
    for lab_loop, trace in zip(loops, traces, strict=True):
        lab_loop.create_task(record(trace, "a", *"12345"), name="a")
    for _ in range(10):
        for lab_loop in loops:
            lab_loop.run_events(1)
    assert traces[0] == traces[1] == [("a", label) for label in "12345"]
    for lab_loop in loops:
        lab_loop.close()


def test_a_closed_world_is_freed():
    class Payload:
        """Something large that a task of the world holds."""

    async def hold(payload):
        await asyncio.Event().wait()

    async def wait_for(peer):
        await peer

    loop = LabLoop.new()
    payload = Payload()
    task = loop.create_task(hold(payload), node=loop.start_node("A"))
    loop.create_task(wait_for(task))
    loop.run_events(100, until_us=1_000_000)
    loop.crash(loop.nodes["A"])
    dead_loop, dead_payload = weakref.ref(loop), weakref.ref(payload)
    loop.close()
    del task, payload
    assert dead_payload() is None, "what tasks hold is freed at once"
    del loop
    gc.collect()
    assert dead_loop() is None


def test_finally_blocks_that_run_while_a_world_is_freed_change_nothing():
    loop = LabLoop.new()
    trace: list[object] = []

    async def work():
        try:
            await asyncio.sleep(100)
        finally:
            loop.call_soon(trace.append, "scheduled")
            await asyncio.sleep(0)

    loop.create_task(work())
    loop.run_events(10, until_us=1)
    loop.close()
    loop.run_events(10)
    assert trace == []
    assert loop.is_closed()


def test_waiting_for_many_tasks_takes_the_same_order_whatever_their_addresses_are(loop):
    async def fail():
        raise ValueError

    async def wait_for_cancel(order, number):
        try:
            await asyncio.sleep(100)
        finally:
            order.append(number)

    async def work():
        order: list[object] = []
        padding = []
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(30):
                    group.create_task(wait_for_cancel(order, number))
                    padding.append(bytearray(number * 37))
                await asyncio.sleep(0)
                group.create_task(fail())
        except* ValueError:
            pass
        return order

    assert loop.run_until_complete(work()) == list(range(30))


def test_the_running_loop_is_restored_after_a_failing_event(loop):
    def interrupt():
        raise KeyboardInterrupt

    loop.call_soon(interrupt)
    with pytest.raises(KeyboardInterrupt):
        loop.run_events(10)
    assert loop.current is None
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()


def test_a_task_that_never_began_is_freed_without_a_word_about_what_it_was_given(recwarn):
    loop = LabLoop.new()

    async def inner():
        raise AssertionError("never runs")

    async def outer(given):
        await given

    loop.create_task(outer(inner()))
    loop.close()
    assert [str(warning.message) for warning in recwarn.list] == []
