"""Random fates of the general scenario, and the command line that runs them.

Ten in ``make test``, a hundred in ``make test-rest``; more with
``GLASSMQ_SWEEP_SEEDS=500 make test TESTS=tests/lab/test_sweep.py``.
"""

from __future__ import annotations

import dataclasses
import os
from functools import partial

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.sweep_processes import ProcessSpread
from engine.broker.delivery.schedule_message_service import ScheduleMessageService
from engine.broker.tables.consumer_offset_manager import ConsumerOffsetManager
from engine.client.consumer.default_mq_push_consumer_impl import DefaultMQPushConsumerImpl
from engine.client.consumer.message_back_sender import MessageBackSender
from engine.client.queues.process_queue import ProcessQueue
from engine.lab.checkers import CHECKERS
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import COMMANDS, parse_command
from engine.lab.scenario.scenario import FaultKind, FaultModel, Scenario
from engine.lab.scenario.scenario_files import load_scenario, scenario_names
from engine.lab.sweep.fault_plan import FAULTS_OVER_AT, PlannedCommand, draw_faults, lay_out
from engine.lab.sweep.seed_chunk import SeedRange, SeedTask, cut_into_chunks, run_chunk
from engine.lab.sweep.sweep import run_seed
from engine.lab.sweep.sweep_summary import SweepSummary
from tests.support.lab.checked_run import TEXT

pytestmark = pytest.mark.seeds(quick=5, full=100)


def planned(scenario: Scenario, seed: int) -> list[PlannedCommand]:
    return lay_out(scenario, draw_faults(scenario, seed))


@pytest.mark.timeout(900)
def test_random_faults_violate_nothing(seeds):
    scenario = load_scenario("general")
    task = SeedTask(scenario.name, scenario.text, random_faults=True)
    portions = list(cut_into_chunks(SeedRange(1, seeds), (), 5))
    spread = ProcessSpread(min(2, os.cpu_count() or 1))
    summary = SweepSummary()
    for _, portion in spread(partial(run_chunk, task), portions):
        summary.merge(portion)
    bad = {result.seed: [violation["text"]["en"] for violation in result.violations] for result in summary.reported}
    assert bad == {}
    assert (summary.seeds, summary.unfinished) == (seeds, {})
    assert summary.commands > 2 * seeds


def test_every_kind_of_fault_is_planned_with_commands_that_exist():
    scenario = dataclasses.replace(
        load_scenario("general"), fault_model=FaultModel(kinds=tuple(FaultKind), max_faults=8)
    )
    kinds: set[str] = set()
    for seed in range(200):
        plan = planned(scenario, seed)
        times = [planned.time_ms for planned in plan]
        assert times == sorted(times)
        assert times[-1] <= scenario.duration_ms * FAULTS_OVER_AT
        kinds |= {parse_command(planned.command).kind for planned in plan}
    assert kinds <= set(COMMANDS)
    assert {"crash", "crash-power", "pause-node", "partition", "clock-skew", "disk-full", "slow-fsync"} <= kinds
    assert {"link-delay", "link-loss", "link-duplicate", "link-reorder", "drop-next", "duplicate-next"} <= kinds


def test_only_faults_of_the_scenarios_model_are_planned():
    scenario = dataclasses.replace(load_scenario("general"), fault_model=FaultModel((FaultKind.PAUSE,), 3))
    for seed in range(50):
        begun = [planned.command["kind"] for planned in planned(scenario, seed)]
        put_right = {"heal", "resume-node", "disk-free", "slow-fsync", "listener", "restart"}
        assert set(begun) <= {"pause-node", *put_right}
    assert planned(dataclasses.replace(scenario, fault_model=FaultModel()), 1) == []


def test_a_seed_has_one_fate():
    scenario = load_scenario("general")
    assert planned(scenario, 7) == planned(scenario, 7)
    assert run_seed(scenario, 7) == run_seed(scenario, 7)
    assert run_seed(scenario, 7).journal_hash != run_seed(scenario, 8).journal_hash


def test_all_faults_together_violate_nothing_in_a_few_seeds():
    scenario = dataclasses.replace(
        load_scenario("general"), fault_model=FaultModel(kinds=tuple(FaultKind), max_faults=8)
    )
    for seed in range(500, 520):
        assert run_seed(scenario, seed).violations == ()


def test_a_consumer_that_commits_what_it_has_pulled_is_found(monkeypatch):
    """The oldest mistake with offsets: the greatest one that is finished, not the smallest one that is not."""
    remove = ProcessQueue.remove_messages

    def greatest(self, messages):
        offset = remove(self, messages)
        return offset if offset < 0 else self.queue_offset_max + 1

    monkeypatch.setattr(ProcessQueue, "remove_messages", greatest)
    _assert_found("offsets-never-pass-unconsumed", seeds=60, kinds=(FaultKind.LISTENER, FaultKind.GROUP))


def test_a_broker_that_keeps_offsets_of_lost_messages_is_found(monkeypatch):
    monkeypatch.setattr(ConsumerOffsetManager, "cut_offsets", lambda self, max_offset_of: None)
    _assert_found("committed-offsets-within-queue", seeds=80, kinds=(FaultKind.CRASH_POWER,))


def test_a_pull_that_is_forgotten_after_an_error_is_found(monkeypatch):
    monkeypatch.setattr(DefaultMQPushConsumerImpl, "_pull_failed", lambda self, request, error: None)
    _assert_found("consumed-in-the-end", seeds=20, kinds=(FaultKind.CRASH,))


def test_a_delayed_message_whose_delivery_failed_and_is_forgotten_is_found(monkeypatch):
    deliver = ScheduleMessageService._deliver
    monkeypatch.setattr(ScheduleMessageService, "_deliver", lambda self, *place: deliver(self, *place) or True)
    _assert_found("consumed-in-the-end", seeds=40, kinds=(FaultKind.DISK,))


@pytest.mark.thorough
def test_a_message_that_could_not_be_given_back_and_is_forgotten_is_found(monkeypatch):
    async def forget(self, message, reconsume_times):
        return

    monkeypatch.setattr(MessageBackSender, "_send_copy", forget)
    _assert_found("consumed-in-the-end", seeds=60, kinds=(FaultKind.LOSS,))


def _assert_found(checker: str, *, seeds: int, kinds: tuple[FaultKind, ...] | None = None) -> None:
    """A sweep over ``seeds`` finds the mistake, and its link shows it again."""
    scenario = load_scenario("general")
    if kinds is not None:
        scenario = dataclasses.replace(scenario, fault_model=FaultModel(kinds, 5))
    for seed in range(seeds):
        result = run_seed(scenario, seed)
        if any(violation["checker"] == checker for violation in result.violations):
            with LabRun.replay(parse_link(result.link)) as again:
                assert tuple(violation.to_dict() for violation in again.violations) == result.violations
                assert again.journal_hash == result.journal_hash
            return
    raise AssertionError(f"{checker} found nothing in {seeds} seeds")


# --- command line --------------------------------------------------------------------------------------------------


def test_the_list_shows_every_scenario():
    result = CliRunner().invoke(main, ["lab", "list"])
    assert result.exit_code == 0
    for name in scenario_names():
        assert name in result.stdout


def test_a_run_without_violation_ends_with_code_0():
    result = CliRunner().invoke(main, ["lab", "run", "hello", "--seed", "3", "--seeds", "2", "--processes", "1"])
    assert result.exit_code == 0, result.output
    assert "hello: 2 seeds" in result.stdout
    assert "0 runs with violations" in result.stdout


def test_a_violation_is_reported_with_its_link_and_ends_with_code_1(monkeypatch, tmp_path):
    commit = ConsumerOffsetManager.commit_offset

    def commit_one_more(self, remote_address, group, topic, queue_id, offset):
        commit(self, remote_address, group, topic, queue_id, offset + 1)

    monkeypatch.setattr(ConsumerOffsetManager, "commit_offset", commit_one_more)
    path = tmp_path / "mine.yaml"
    path.write_text(TEXT.replace("DURATION", "20000").replace("FLUSH", "async"))
    arguments = ["lab", "run", str(path), "--processes", "1", "--address", "http://lab.example/"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    assert "committed-offsets-within-queue (skipped)" in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if "http://" in line]
    address, _, fragment = line.strip().partition("#")
    assert address == "http://lab.example/lab/mine"
    with LabRun.replay(parse_link(fragment)) as again:
        assert "committed-offsets-within-queue" in {violation.checker for violation in again.violations}


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["no-such-scenario"], "no-such-scenario"),
        (["missing.yaml"], "Invalid value for missing.yaml: No such file or directory"),
        (["general", "--seeds", "0"], "--seeds"),
        (["general", "--faults", "some"], "--faults"),
        (["general", "--processes", "1000"], "--processes"),
    ],
)
def test_a_wrong_request_gets_a_clear_answer(arguments, reported):
    result = CliRunner().invoke(main, ["lab", "run", *arguments])
    assert result.exit_code == 2
    assert reported in result.output
    assert "Traceback" not in result.output


def test_a_malformed_scenario_is_reported_with_its_line(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(TEXT.replace("DURATION", "20000").replace("FLUSH", "sometimes"))
    result = CliRunner().invoke(main, ["lab", "run", str(path)])
    assert result.exit_code == 2
    assert "nodes.B1.flush" in result.output
    assert "line" in result.output


def test_the_checkers_are_named_like_invariants():
    assert all(name == name.lower() and " " not in name for name in CHECKERS)
