"""Pieces of work in processes of their own: all results, and an end also when a piece fails or its process dies."""

from __future__ import annotations

import os
from concurrent.futures.process import BrokenProcessPool

import pytest
from click import ClickException

from app.commands.lab.shared_work import shared_work
from app.sweep_processes import ProcessSpread


def result_of(item):
    if item == "refused":
        raise ValueError(item)
    if item == "killed":
        os._exit(1)
    return item * 2


def test_each_piece_is_reported_once_with_its_number():
    assert sorted(ProcessSpread(2)(result_of, range(20))) == [(number, number * 2) for number in range(20)]


@pytest.mark.parametrize(("fate", "error"), [("refused", ValueError), ("killed", BrokenProcessPool)])
def test_a_piece_that_fails_ends_the_work_while_others_report(fate, error):
    with pytest.raises(error):
        list(ProcessSpread(2)(result_of, [fate, *range(2_000)]))


def test_commands_say_that_a_process_was_killed():
    with pytest.raises(ClickException, match=r"was killed, .* --processes"), shared_work(None, 2) as (spread, _):
        list(spread(result_of, ["killed", 1]))


def test_who_needs_no_more_results_ends_the_work():
    results = ProcessSpread(2)(result_of, range(2_000))
    next(results)
    results.close()
