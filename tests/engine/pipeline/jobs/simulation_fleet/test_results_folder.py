"""The folder from which a stopped sweep goes on."""

from __future__ import annotations

import json

import pytest

from engine.lab.scenario.scenario import FaultKind
from engine.lab.sweep.seed_chunk import SeedRange, SeedTask
from engine.lab.sweep.sweep import SeedResult
from engine.lab.sweep.sweep_summary import SweepSummary
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.simulation_fleet import results_folder
from engine.pipeline.jobs.simulation_fleet.results_folder import FILE_NAME, ResultsFolder

TASK = SeedTask("hello", "title: x", random_faults=True)


def summary_of(*seeds):
    summary = SweepSummary()
    for seed in seeds:
        summary.add(SeedResult(seed, 10, 1, f"h{seed}", (), "", (FaultKind.CRASH,)))
    return summary


def test_what_was_appended_is_there_when_it_is_opened_again(tmp_path):
    with ResultsFolder(tmp_path / "new" / "runs", TASK, "3.11") as results:
        results.append(SeedRange(3, 2), summary_of(3, 4))
        results.append(SeedRange(1, 2), summary_of(1, 2))
    with ResultsFolder(tmp_path / "new" / "runs", TASK, "3.11") as again:
        assert again.done == [SeedRange(1, 2), SeedRange(3, 2)]
        assert again.summary == summary_of(1, 2, 3, 4)


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_line_that_was_cut_off_by_a_crash_is_run_again(tmp_path, cut):
    with ResultsFolder(tmp_path, TASK, "3.11") as results:
        results.append(SeedRange(1, 1), summary_of(1))
        results.append(SeedRange(2, 1), summary_of(2))
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes()[:-cut])
    with ResultsFolder(tmp_path, TASK, "3.11") as again:
        assert again.done == [SeedRange(1, 1)]
        again.append(SeedRange(2, 1), summary_of(2))
    with ResultsFolder(tmp_path, TASK, "3.11") as third:
        assert third.summary == summary_of(1, 2)


def test_a_first_line_that_was_cut_off_is_written_anew(tmp_path):
    ResultsFolder(tmp_path, TASK, "3.11").close()
    path = tmp_path / FILE_NAME
    whole = path.read_bytes()
    path.write_bytes(whole[:30])
    ResultsFolder(tmp_path, TASK, "3.11").close()
    assert path.read_bytes() == whole


def test_a_seed_that_is_in_two_portions_is_not_counted_twice(tmp_path):
    with ResultsFolder(tmp_path, TASK, "3.11") as results:
        results.append(SeedRange(1, 2), summary_of(1, 2))
        results.append(SeedRange(2, 1), summary_of(2))
    with pytest.raises(JobFailed, match="contains seed 2 twice"):
        ResultsFolder(tmp_path, TASK, "3.11")


@pytest.mark.parametrize(
    ("task", "python", "reported"),
    [
        (TASK._replace(scenario="general"), "3.11", "another scenario (hello, now general)"),
        (TASK._replace(text="title: y"), "3.11", "another text of the scenario"),
        (TASK._replace(random_faults=False), "3.11", "different fault settings (random, now none)"),
        (TASK, "3.13", "another version of Python (3.11, now 3.13)"),
    ],
)
def test_results_of_something_else_are_refused_and_kept(tmp_path, task, python, reported):
    with ResultsFolder(tmp_path, TASK, "3.11") as results:
        results.append(SeedRange(1, 1), summary_of(1))
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(JobFailed) as caught:
        ResultsFolder(tmp_path, task, python)
    assert reported in str(caught.value)
    assert "another folder" in str(caught.value)
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_results_of_another_engine_are_refused(tmp_path, monkeypatch):
    ResultsFolder(tmp_path, TASK, "3.11").close()
    monkeypatch.setattr(results_folder, "engine_digest", lambda: "other")
    with pytest.raises(JobFailed, match="another version of the engine"):
        ResultsFolder(tmp_path, TASK, "3.11")


def test_two_runs_do_not_write_one_folder(tmp_path):
    with ResultsFolder(tmp_path, TASK, "3.11"), pytest.raises(JobFailed, match="written by another run"):
        ResultsFolder(tmp_path, TASK, "3.11")


@pytest.mark.parametrize("text", ["nothing of ours\n", "[]\n", json.dumps({"format": "x"}) + "\n", "my notes"])
def test_a_strange_file_is_refused_and_kept(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(JobFailed, match=FILE_NAME):
        ResultsFolder(tmp_path, TASK, "3.11")
    assert (tmp_path / FILE_NAME).read_text() == text


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JobFailed, match="cannot store results"):
        ResultsFolder(tmp_path / "file", TASK, "3.11")
