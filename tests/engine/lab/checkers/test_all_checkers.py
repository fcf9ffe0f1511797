"""What is true of every checker, and of all together."""

from __future__ import annotations

import pytest

from engine.lab.checkers import CHECKERS, Checker, CheckerSet
from engine.lab.checkers.watch.cluster_watch import NEWS, WatchListener
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.checked_run import TEXT, checked_run, do, finish, run_to


def test_a_long_calm_run_violates_nothing():
    with checked_run(duration_ms=600_000) as run:
        assert finish(run) == []
        history = run.world.history
        assert len({entry.key for entry in history.consumes_ended if entry.result == "success"}) == 39
        assert run.checkers is not None
        applicable = [name for name, checker in CHECKERS.items() if checker.applies(run.scenario)]
        assert [checker.name for checker in run.checkers.checkers] == applicable
        assert len(applicable) > 9
        assert all(checker.ok for checker in run.checkers.checkers)


@pytest.mark.parametrize("flush", ["async", "sync"])
def test_crashes_pauses_and_restarts_violate_nothing(flush):
    with checked_run(flush=flush, duration_ms=300_000) as run:
        run_to(run, 1_500)
        do(run, "crash", "B1")
        run_to(run, 2_500)
        do(run, "restart", "B1")
        do(run, "kill-consumer", "C1")
        run_to(run, 6_000)
        do(run, "start-consumer", "C1")
        do(run, "pause-node", "C2")
        run_to(run, 20_000)
        do(run, "resume-node", "C2")
        do(run, "crash-power", "B1")
        run_to(run, 25_000)
        do(run, "restart", "B1")
        assert finish(run) == []


def test_every_checker_says_in_both_languages_what_it_claims_and_why():
    for name, checker in CHECKERS.items():
        assert checker.name == name
        for texts in (checker.title, checker.why):
            assert sorted(texts) == ["en", "zh"]
            assert all(texts.values())
        assert "Fault model" in (__import__(checker.__module__, fromlist=["_"]).__doc__ or ""), name


def test_every_public_method_of_a_checker_overrides_one_that_is_called():
    called = {news.__name__ for news in NEWS} | {name for name in vars(Checker) if not name.startswith("_")}
    for name, checker in CHECKERS.items():
        misspelt = {method for method in vars(checker) if not method.startswith("_")} - called
        assert not misspelt - {"name", "anomaly", "title", "why"}, name


def test_a_listener_is_called_only_for_what_it_overrides():
    class Listener(WatchListener):
        def __init__(self) -> None:
            self.began: list[ConsumeBegan] = []

        def consume_began(self, entry: ConsumeBegan) -> None:
            self.began.append(entry)

    with checked_run(duration_ms=10_000) as run:
        assert run.checkers is not None
        listener, watch = Listener(), run.checkers.watch
        watch.add(listener)
        reported = [
            news for news in NEWS if listener in [getattr(method, "__self__", None) for method in watch._noted[news]]
        ]
        assert reported == [WatchListener.consume_began]
        finish(run)
        assert listener.began == run.world.history.consumes_began


def test_only_the_invariants_that_the_scenario_names_are_checked():
    text = TEXT.replace("DURATION", "1000").replace("FLUSH", "async")
    scenario = parse_scenario(f"{text}invariants: [consumed-was-sent]\n", "named")
    with LabRun(scenario) as run:
        assert run.checkers is not None
        assert [checker.name for checker in run.checkers.checkers] == ["consumed-was-sent"]


def test_checkers_do_not_change_what_happens():
    scenario = load_scenario("general")
    with LabRun(scenario, check=True) as checked, LabRun(scenario, check=False) as unchecked:
        checked.run_events(3_000)
        unchecked.run_events(3_000)
        assert checked.journal_hash == unchecked.journal_hash


def test_a_scenario_without_consumers_gets_only_the_checkers_that_mean_something():
    text = TEXT.replace("DURATION", "1000").replace("FLUSH", "async")
    start, end = text.index("  C1:"), text.index("topics:")
    with LabRun(parse_scenario(text[:start] + text[end:], "send-only")) as run:
        found = [checker.name for checker in CheckerSet(run.world).checkers]
        assert "acknowledged-messages-are-stored" in found
        assert "one-owner-per-queue" not in found
