from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.foundation.forked_processes import ForkedProcesses
from engine.lab.run.process_tree import TreeFailed

#: A tree as the list of its children.
TREES = st.recursive(st.just([]), lambda children: st.lists(children, max_size=3), max_leaves=8)


def paths_of(tree, path=()):
    yield path
    for number, child in enumerate(tree):
        yield from paths_of(child, (*path, number))


def play(tree, branch):
    """Fork for each child of ``tree``, and report the path of this process."""
    path: tuple[int, ...] = ()
    number = 0
    while number < len(tree):
        if branch.fork():
            tree, path, number = tree[number], (*path, number), 0
        else:
            number += 1
    branch.report(path)


def wait_for_end_of(group):
    """Killed processes take a moment to go; one that stays hangs the test."""
    while living_in(group):
        os.sched_yield()


def living_in(group):
    """The processes of a group that run or wait."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, _, its_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue
            if int(its_group) == group and state != "Z":
                found.append(int(entry.name))
    return found


@settings(max_examples=20, deadline=None)
@given(TREES, st.integers(1, 4))
def test_every_process_of_a_tree_reports_once_however_many_run(tree, processes):
    reported = list(ForkedProcesses(processes).grow(lambda branch: play(tree, branch)))
    assert sorted(reported, key=repr) == sorted(paths_of(tree), key=repr)


def test_one_process_at_a_time_reports_each_child_before_its_parent_goes_on():
    tree = [[[]], []]
    reported = list(ForkedProcesses(1).grow(lambda branch: play(tree, branch)))
    assert reported == [(0, 0), (0,), (1,), ()]


def test_results_larger_than_a_pipe_arrive_whole_from_processes_that_write_together():
    def work(branch):
        mine = 0
        for number in range(1, 6):
            if branch.fork():
                mine = number
                break
        branch.report(bytes([mine]) * 300_000)

    reported = list(ForkedProcesses(3).grow(work))
    assert sorted(reported, key=repr) == [bytes([number]) * 300_000 for number in range(6)]


def test_a_process_that_fails_ends_the_tree_and_its_error_is_reported():
    def work(branch):
        branch.report("before")
        if branch.fork():
            raise ValueError("a bug of the child")
        branch.report("never")

    results = ForkedProcesses(1).grow(work)
    assert next(results) == "before"
    with pytest.raises(TreeFailed, match="a bug of the child"):
        next(results)


def test_a_process_that_is_killed_ends_the_tree():
    def work(branch):
        if branch.fork():
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(TreeFailed, match="was killed"):
        list(ForkedProcesses(2).grow(work))


def test_a_tree_that_nobody_reads_any_more_has_no_process_left():
    def work(branch):
        while not branch.fork():
            pass
        branch.report(os.getpgrp())
        while True:
            branch.report("on and on")

    with closing(ForkedProcesses(3).grow(work)) as results:
        group = next(results)
        assert living_in(group)
    wait_for_end_of(group)


def test_a_tree_ends_when_the_process_that_grew_it_is_killed():
    program = """
import os
from app.foundation.forked_processes import ForkedProcesses

def work(branch):
    while True:
        if branch.fork():
            branch.report(os.getpgrp())
            return

for group in ForkedProcesses(2).grow(work):
    print(group, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    group = int(process.stdout.readline())
    process.kill()
    # The pipe ends when the last process that has it is gone.
    process.stdout.read()
    process.wait()
    wait_for_end_of(group)
