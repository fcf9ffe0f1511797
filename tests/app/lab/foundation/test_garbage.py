"""Full collections run when nobody waits, when they are worthwhile, and at the latest when much has been freed."""

import gc

import pytest

from app.lab.foundation.garbage import (
    AT_LATEST_AFTER,
    AT_LATEST_AFTER_FREED_EVENTS,
    QUIET_AFTER,
    QUIET_AFTER_FREED_EVENTS,
    FullCollections,
)
from app.lab.session.timeline import Timeline
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture
def collections():
    with FullCollections() as collections:
        gc.collect()
        assert not collections.collect_if_due(is_quiet=True), "it counts from the last full collection on"
        yield collections


def test_python_starts_no_full_collection_by_itself_meanwhile():
    before = gc.get_threshold()
    with FullCollections():
        assert gc.get_threshold()[2] > AT_LATEST_AFTER
    assert gc.get_threshold() == before


def test_many_smaller_collections_make_a_full_one_worthwhile(collections):
    assert not collections.collect_if_due(is_quiet=True)
    for _ in range(QUIET_AFTER):
        gc.collect(1)
    assert not collections.collect_if_due(is_quiet=False)
    assert collections.collect_if_due(is_quiet=True)
    assert not collections.collect_if_due(is_quiet=True)


def test_a_full_collection_by_anyone_counts_for_all_labs_of_the_process(collections):
    with FullCollections() as other:
        for _ in range(QUIET_AFTER):
            gc.collect(1)
        assert other.collect_if_due(is_quiet=True)
        assert not collections.collect_if_due(is_quiet=True)
        for _ in range(QUIET_AFTER):
            gc.collect(1)
        FullCollections.note_freed(AT_LATEST_AFTER_FREED_EVENTS)
        gc.collect()
        assert not collections.collect_if_due(is_quiet=True)
        assert not other.collect_if_due(is_quiet=False)


def test_freed_runs_make_a_full_one_worthwhile_and_then_necessary(collections):
    FullCollections.note_freed(QUIET_AFTER_FREED_EVENTS - 1)
    assert not collections.collect_if_due(is_quiet=True)
    FullCollections.note_freed(1)
    assert not collections.collect_if_due(is_quiet=False)
    assert collections.collect_if_due(is_quiet=True)
    FullCollections.note_freed(AT_LATEST_AFTER_FREED_EVENTS)
    assert collections.collect_if_due(is_quiet=False)
    assert not collections.collect_if_due(is_quiet=False)


def test_a_timeline_notes_each_run_that_it_frees(collections):
    timeline = Timeline(LabRun(load_scenario("general")))
    timeline.run.run_events(1_500)
    while timeline.grow(lambda: False):
        pass
    timeline.close()
    assert not collections.collect_if_due(is_quiet=True), "1,500 events, and copies of 600 and 1,200"
    again = Timeline(LabRun(load_scenario("general")))
    again.run.run_events(QUIET_AFTER_FREED_EVENTS - 3_300)
    again.close()
    assert collections.collect_if_due(is_quiet=True)
