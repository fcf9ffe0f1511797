"""Seeds in portions: here, in processes and on Spark, with the same result; stopped and gone on with."""

from __future__ import annotations

import threading

import pytest

from app.sweep_processes import ProcessSpread
from engine.lab.run.recording import python_version
from engine.lab.run.spread import spread_here
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.seed_chunk import SeedRange, SeedTask, run_chunk
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.arguments import read_arguments
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.simulation_fleet import fleet
from engine.pipeline.jobs.simulation_fleet.description import DESCRIPTION, FINDINGS_TABLE, KINDS_TABLE
from engine.pipeline.jobs.simulation_fleet.fleet import chunk_size, run_fleet
from engine.pipeline.jobs.simulation_fleet.job import JOB
from engine.pipeline.jobs.simulation_fleet.results_folder import ResultsFolder
from tests.support.pipeline.memory_report import MemoryReport

#: Among them seed 17, which violates two invariants.
SEEDS = SeedRange(12, 8)


def bank_task():
    scenario = load_scenario("bank-naive")
    return SeedTask(scenario.name, scenario.text, random_faults=True)


@pytest.mark.thorough
def test_processes_find_what_one_process_finds():
    state = run_fleet(bank_task(), SEEDS, ProcessSpread(2), chunk=3)
    assert state.summary == run_chunk(bank_task(), SEEDS)
    assert state.is_complete
    assert len(state.examples["no-money-from-nowhere"].faults) == 1


def test_a_sweep_that_was_stopped_goes_on_where_it_was(tmp_path):
    task, ran = bank_task(), []

    def until_two(function, items):
        for index, item in enumerate(items[:2]):
            ran.append(item)
            yield index, function(item)

    with ResultsFolder(tmp_path, task, python_version()) as results:
        state = run_fleet(task, SEEDS, until_two, chunk=2, results=results)
    assert (state.is_complete, state.done) == (False, 4)
    assert state.examples == {}

    with ResultsFolder(tmp_path, task, python_version()) as results:
        state = run_fleet(task, SEEDS, spread_here, chunk=3, results=results)
    assert (state.is_complete, state.before) == (True, 4)
    assert state.summary == run_chunk(task, SEEDS)


def test_what_is_all_done_is_not_run_again(tmp_path):
    task = SeedTask("hello", load_scenario("hello").text, random_faults=False)
    with ResultsFolder(tmp_path, task, python_version()) as results:
        results.append(SeedRange(1, 5), run_chunk(task, SeedRange(1, 5)))

        def refuse(function, items):
            assert items == []
            yield from ()

        state = run_fleet(task, SeedRange(2, 3), refuse, chunk=1, results=results)
    assert state.is_complete
    assert state.summary.seeds == 5


def test_a_worker_with_another_engine_is_refused(monkeypatch):
    monkeypatch.setattr(fleet, "_run_portion", lambda task, seeds: ("another", None))
    with pytest.raises(JobFailed, match="a different version of the engine"):
        run_fleet(bank_task(), SEEDS, spread_here, chunk=3)


@pytest.mark.parametrize(("seeds", "workers", "size"), [(1, 2, 1), (100, 2, 7), (10**6, 2, 50), (1_000, 500, 1)])
def test_portions_are_small_enough_for_all_to_end_together(seeds, workers, size):
    assert chunk_size(seeds, workers) == size


# --- Spark ---------------------------------------------------------------------------------------------------------


def job_run(spark, report, **arguments):
    checked = read_arguments(DESCRIPTION, arguments)
    return JobRun(spark, checked, {}, report, watch=lambda query: None)


def test_spark_finds_what_one_process_finds(spark, tmp_path):
    report = MemoryReport()
    arguments = {"scenario": "bank-naive", "first_seed": SEEDS.first, "seeds": SEEDS.size, "chunk": 3}
    JOB(job_run(spark, report, results_folder=str(tmp_path), address="http://lab", **arguments))

    expected = run_chunk(bank_task(), SEEDS)
    with ResultsFolder(tmp_path, bank_task(), python_version()) as results:
        assert results.summary == expected, "fingerprints included: every journal is the same"
    (total, *kinds) = report.tables[KINDS_TABLE]
    assert total[:3] == ("*", SEEDS.size, expected.bad)
    assert {row[0]: row[1] for row in kinds} == {kind.value: count.runs for kind, count in expected.kinds.items()}
    found = {row[0]: row for row in report.tables[FINDINGS_TABLE]}
    assert found["no-money-from-nowhere"][3] == 17
    assert dict(found["no-money-from-nowhere"][4]) == {"en": "disk fault", "zh": "磁盘故障"}
    assert found["no-money-from-nowhere"][6].keys() == {"en", "zh"}
    assert found["no-money-from-nowhere"][-1].startswith("http://lab/lab/bank-naive#")
    assert report.progresses[-1] == (SEEDS.size, SEEDS.size, "seeds")


def test_the_job_says_that_nothing_was_violated_and_what_was_there_before(spark, tmp_path):
    task = SeedTask("hello", load_scenario("hello").text, random_faults=False)
    with ResultsFolder(tmp_path, task, python_version()) as results:
        results.append(SeedRange(1, 2), run_chunk(task, SeedRange(1, 2)))
    report = MemoryReport()
    JOB(job_run(spark, report, scenario="hello", seeds=3, faults="none", results_folder=str(tmp_path)))
    notes = [note["en"] for note in report.notes]
    assert notes == [
        "2 of 3 seeds were already in the results folder.",
        "Every invariant held in all 3 runs.",
    ]


def test_a_stopped_job_leaves_what_is_finished(spark, tmp_path):
    report = MemoryReport()
    run = job_run(spark, report, scenario="bank-naive", seeds=1_000, chunk=1, results_folder=str(tmp_path))
    run.stop = threading.Event()
    reported = report.table

    def stop_after_some(name, rows, **more):
        reported(name, rows, **more)
        if name == KINDS_TABLE and rows[0][1] >= 2:
            run.stop.set()

    report.table = stop_after_some
    JOB(run)
    with ResultsFolder(tmp_path, bank_task(), python_version()) as results:
        assert 2 <= results.summary.seeds < 1_000


@pytest.mark.parametrize("name", ["no-such-scenario", "missing.yaml"])
def test_a_scenario_that_is_not_there_is_named(spark, name):
    with pytest.raises(JobFailed, match=name):
        JOB(job_run(spark, MemoryReport(), scenario=name))
