"""The scheduler, the gate and the timers of a lab."""

from __future__ import annotations

import asyncio
import random

from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.step import step


class RandomScheduler:
    """Takes any option."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.options_seen = 0

    def __call__(self, options):
        self.options_seen = max(self.options_seen, len(options))
        assert len({event.actor.number for event in options}) == len(options)
        return self.random.choice(options)


def run_three_actors(scheduler):
    loop = LabLoop.new()
    loop.schedule.scheduler = scheduler
    trace: list[object] = []

    async def act(name):
        for number in range(5):
            asyncio.get_running_loop().call_soon(trace.append, (name, number, "first"))
            asyncio.get_running_loop().call_soon(trace.append, (name, number, "second"))
            await step("acts")
            await asyncio.sleep(0.001)

    async def everybody():
        await asyncio.gather(*(act(name) for name in "abc"))

    loop.run_until_complete(everybody())
    loop.close()
    return trace


@given(st.integers(0, 10_000))
def test_a_scheduler_permutes_actors_but_never_the_events_of_one(seed):
    scheduler = RandomScheduler(seed)
    trace = run_three_actors(scheduler)
    assert scheduler.options_seen >= 2
    for name in "abc":
        own = [entry for entry in trace if entry[0] == name]
        assert own == [(name, number, part) for number in range(5) for part in ("first", "second")]


def test_schedulers_give_different_orders_and_one_seed_one_order():
    orders = {tuple(run_three_actors(RandomScheduler(seed))) for seed in range(20)}
    assert len(orders) > 5
    assert run_three_actors(RandomScheduler(3)) == run_three_actors(RandomScheduler(3))


def test_without_a_scheduler_events_run_in_the_order_in_which_they_became_ready():
    loop = LabLoop.new()
    order: list[object] = []
    for number in range(10):
        loop.call_soon(order.append, number)
    loop.run_events(10)
    assert order == list(range(10))


async def act(trace, name):
    for label in ("one", "two", "three"):
        await step(label)
        trace.append((name, label))


def test_a_gate_stops_the_run_before_an_event_and_lets_it_go_on_later():
    loop = LabLoop.new()
    trace: list[tuple[str, str]] = []
    for name in "ab":
        loop.create_task(act(trace, name), name=name)
    loop.schedule.gate = lambda event: not (event.actor.name == "world/a" and event.label == "two")
    loop.run_events(100)
    assert loop.schedule.stopped_by_gate
    assert ("a", "two") not in trace
    loop.schedule.gate = None
    loop.run_events(100)
    assert not loop.schedule.stopped_by_gate
    assert [label for name, label in trace if name == "a"] == ["one", "two", "three"]


def test_a_gate_that_holds_the_actor_lets_others_go_on():
    loop = LabLoop.new()
    trace: list[tuple[str, str]] = []
    for name in "ab":
        loop.create_task(act(trace, name), name=name)

    def hold_once(event):
        if event.actor.name == "world/a" and event.label == "two" and loop.now_us < 2_000_000:
            loop.hold(event.actor, 2_000_000)
            return False
        return True

    loop.schedule.gate = hold_once
    loop.run_events(100)
    assert trace == [("a", "one"), ("b", "one"), ("b", "two"), ("b", "three"), ("a", "two"), ("a", "three")]
    assert loop.now_us == 2_000_000


def test_a_gate_may_crash_the_node_whose_event_it_sees():
    loop = LabLoop.new()
    trace: list[tuple[str, str]] = []
    node = loop.start_node("B")
    loop.create_task(act(trace, "b"), name="b", node=node)
    loop.create_task(act(trace, "a"), name="a")

    def crash(event):
        if event.label == "two" and event.actor.node is node:
            loop.crash(node)
        return True

    loop.schedule.gate = crash
    loop.run_events(100)
    assert trace == [("b", "one"), ("a", "one"), ("a", "two"), ("a", "three")]


def test_cancelled_timers_do_not_pile_up():
    loop = LabLoop.new()
    for _ in range(50_000):
        loop.call_later(3_600, print).cancel()
    assert len(loop.schedule._timers) < 5_000


def test_paused_nodes_offer_nothing_to_a_scheduler():
    scheduler = RandomScheduler(1)
    loop = LabLoop.new()
    loop.schedule.scheduler = scheduler
    trace: list[tuple[str, str]] = []
    node = loop.start_node("B")
    loop.create_task(act(trace, "b"), name="b", node=node)
    loop.create_task(act(trace, "a"), name="a")
    loop.pause(node)
    loop.run_events(100)
    assert [name for name, _ in trace] == ["a", "a", "a"]
    loop.resume(node)
    loop.run_events(100)
    assert [name for name, _ in trace[3:]] == ["b", "b", "b"]


def test_a_peek_tells_the_next_event_and_changes_nothing():
    loop = LabLoop.new()
    schedule = loop.schedule
    assert schedule.peek() is None
    loop.call_later(2, print)
    first = loop.call_later(1, print)
    assert schedule.peek() is first
    node = loop.start_node("B")
    ready = loop.post(loop.new_actor("b", node), loop.context_of(loop.root), "now", 0, print)
    assert schedule.peek() is ready
    loop.pause(node)
    assert schedule.peek() is first
    first.cancel()
    assert schedule.peek() is not first
    assert schedule.peek() is schedule.peek()
    assert loop.event_number == 0


def test_time_passes_up_to_the_first_event_that_may_run():
    loop = LabLoop.new()
    trace: list[tuple[str, str]] = []
    node = loop.start_node("B")
    paused = loop.new_actor("b", node)
    loop.post(paused, loop.context_of(paused), "b", 1_000, trace.append, ("b", "late"))
    loop.call_later(0.002, trace.append, ("a", "later"))
    loop.pause(node)
    loop.schedule.let_time_pass(1_500)
    assert (loop.now_us, trace) == (1_500, [])
    loop.schedule.let_time_pass(9_000)
    assert (loop.now_us, trace) == (2_000, [])
    loop.resume(node)
    loop.run_events(10)
    assert trace == [("b", "late"), ("a", "later")]
    loop.schedule.let_time_pass(9_000)
    assert loop.now_us == 9_000
