"""Captions of elections, of replication and of the decisions of Kafka's controllers, over the scenarios about them."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest

from engine.lab.narration.narrator import Caption, Narrator
from engine.lab.nodes.history import ElectionStep, PartitionDecided
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario, shelved_scenario_names

SHELVES = shelved_scenario_names()
SCENARIOS = (*SHELVES["replication"], *SHELVES["kafka-replication"], "26-majority-and-election", "27-in-sync-replicas")


class Told(NamedTuple):
    captions: tuple[Caption, ...]
    elections: tuple[ElectionStep, ...]
    decisions: tuple[PartitionDecided, ...]

    def texts(self, language: str = "en") -> list[str]:
        return [caption.text[language] for caption in self.captions]


@cache
def told(name: str, *settings: tuple[str, str, bool]) -> Told:
    """The captions of a whole run, each once, and what its history knows."""
    captions: list[Caption] = []
    with LabRun(load_scenario(name)) as run:
        for node, setting, value in settings:
            run.apply(parse_command({"kind": "setting", "target": node, "name": setting, "value": value}))
        narrator = Narrator(run)
        while run.now_us < run.scenario.duration_ms * 1_000 and run.step():
            caption = narrator.caption
            if caption is not None and caption not in captions[-1:]:
                captions.append(caption)
        history = run.world.history
        return Told(tuple(captions), tuple(history.election_steps), tuple(history.partitions_decided))


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_step_of_an_election_and_each_decision_has_one_caption_at_its_event(name):
    run = told(name)
    shown = Counter(caption.event for caption in run.captions if caption.kind == "node")
    for event in [step.event for step in run.elections] + [decided.event for decided in run.decisions]:
        assert shown[event] == 1, event
    texts = {caption.event: caption.text["en"] for caption in run.captions if caption.kind == "node"}
    assert all(caption.text["zh"] for caption in run.captions)
    for step in run.elections:
        assert texts[step.event].startswith(step.node), step
    for decided in run.decisions:
        assert decided.partition in texts[decided.event], decided
        assert ", ".join(decided.isr) in texts[decided.event] or decided.what == "leads_unclean", decided


def test_every_kind_of_step_and_decision_occurs_in_a_scenario():
    steps = {step.what for name in SCENARIOS for step in told(name).elections}
    assert steps == {"asks", "stands", "no_majority", "leads", "newer_term", "silence", "removed", "counts_again"}
    decisions = {decided.what for name in SCENARIOS for decided in told(name).decisions}
    assert decisions == {"leads", "no_leader", "shrinks", "grows"}


def test_no_caption_of_an_election_or_of_replication_is_shown_twice():
    for name in SCENARIOS:
        run = told(name)
        of_replicas = [
            (caption.event, caption.text["en"])
            for caption in run.captions
            if any(word in caption.text["en"] for word in ("vote", "replicates", "reports to", "in-sync", "leads in"))
        ]
        assert len(set(of_replicas)) == len(of_replicas), name


def test_an_election_is_told_from_the_timeout_to_the_leader():
    texts = told("majority-log").texts()
    asks = next(number for number, text in enumerate(texts) if "(pre-vote)" in text)
    later = texts[asks:]
    candidate = texts[asks].split(" ", 1)[0]
    would = next(text for text in later if f" would vote for {candidate} in term 1." in text)
    stands = next(text for text in later if text.startswith(f"{candidate} stands for election in term 1:"))
    votes = next(text for text in later if f" votes for {candidate} in term 1." in text)
    leads = f"{candidate} has 2 of 3 votes, a majority: it leads in term 1."
    assert [later.index(one) for one in (would, stands, votes, leads)] == sorted(
        later.index(one) for one in (would, stands, votes, leads)
    )


def test_without_a_majority_it_is_said_how_many_votes_there_are():
    texts = told("majority-log").texts()
    assert any("got 1 of 3 votes, its own included: no majority. It asks again, for term" in text for text in texts)
    assert any("no longer leads in term 2: it has not heard from a majority for too long." in text for text in texts)


def test_a_refused_vote_says_why():
    assert "R2 refuses R1 its vote: it has voted for another candidate in term 2." in told("old-term-commit").texts()
    assert "R1 would not vote for R3: its own log is more up to date." in told("wiped-member").texts()


def test_a_replica_that_catches_up_is_told_from_its_log_to_its_report():
    texts = told("membership-change").texts()
    assert any(
        text.startswith("R1 replicates no-op, order-0 and ") and " to R4 as the leader" in text for text in texts
    )
    assert any(text.startswith("R4 reports to R1 that it has the log up to entry ") for text in texts)
    assert any("log differs from" in text for text in told("old-term-commit").texts())


def test_a_synchronous_master_waits_for_its_slave_and_an_asynchronous_one_does_not():
    waits = "answers SEND_OK for new messages only when enough slaves report that they have them."
    assert any(text.startswith("B1 sends bytes ") and text.endswith(waits) for text in told("sync-master").texts())
    assert not any(waits in text for text in told("async-master-loses").texts())


def test_a_leader_that_was_not_in_sync_is_told_as_such():
    run = told("unclean-election", ("Q1", "unclean_leader_election_enable", True))
    assert "leads_unclean" in {decided.what for decided in run.decisions}
    assert any(
        "although it was not in sync: records that only other brokers have are lost." in text for text in run.texts()
    )


@pytest.mark.parametrize("name", ["majority-log", "isr-shrinks", "sync-master"])
def test_a_caption_does_not_depend_on_when_one_asks(name):
    captions = told(name).captions
    with LabRun(load_scenario(name)) as again:
        narrator = Narrator(again)
        while again.now_us < again.scenario.duration_ms * 500 and again.run_events(37):
            at_the_time = [caption for caption in captions if caption.event <= again.event_number]
            assert narrator.caption == (at_the_time[-1] if at_the_time else None)
