"""Search for the shortest loss that a replication policy allows: every schedule of a leader's death, one run each.

A schedule is a fault before, or none, and the event right after which the leader dies. Schedules with fewer faults come
first, then those that are over sooner, as in :mod:`engine.lab.explorer.search`; so what is found first is the shortest.
A search that ends without a finding has run all of them: it says nothing about other faults, times or numbers of
machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario import Scenario
from engine.lab.sweep.replication_compare import leader_of, lost_keys, place_of
from engine.lab.sweep.replication_policy import (
    SETTLED_MS,
    PolicyFamily,
    PolicyFault,
    ReplicaPlacement,
    ReplicationPolicy,
    script_of,
    world_of,
)

#: Events of one world after which the leader may die, at most; and until the client has received this many answers.
EVENTS_MAX = 200
ANSWERS = 2
#: Time for what is in flight, and for an election: Kafka's controller considers a broker dead after 9 s.
_AFTER_US = {PolicyFamily.MASTER_AND_SLAVES: 2_000_000, PolicyFamily.RAFT: 2_000_000, PolicyFamily.KAFKA: 12_000_000}


@dataclass(frozen=True, slots=True)
class SearchedPolicy:
    """Result of a search.

    :ivar schedules: how many were run: all there are, or up to the finding.
    :ivar faults: of the finding, the leader's death among them; 0: nothing was found.
    :ivar before: the fault before the leader's death, or empty.
    :ivar events: how many the run had when the leader died.
    :ivar lost: number of lost messages.
    :ivar link: the run right after the death, or empty.
    """

    policy: str
    schedules: int
    faults: int = 0
    before: str = ""
    events: int = 0
    lost: int = 0
    link: str = ""


def search_loss(policy: ReplicationPolicy) -> SearchedPolicy:
    """Run the schedules until one of them loses an acknowledged message."""
    place = place_of(policy)
    schedules = 0
    for before, script in _scripts(place):
        world = world_of(policy, before, script)
        events = _window(world)
        for event in events:
            schedules += 1
            with LabRun(world, check=False) as run:
                run.run_events(event)
                link, died_us = _kill_leader(run, place), run.now_us
                run.run_to_time(died_us + _AFTER_US[policy.family])
                lost = len(lost_keys(run, policy))
            if lost:
                faults, name = (1, "") if before is None else (2, before.value)
                return SearchedPolicy(policy.name, schedules, faults, name, event, lost, link)
    return SearchedPolicy(policy.name, schedules)


def _scripts(place: ReplicaPlacement) -> Iterator[tuple[PolicyFault | None, list[str]]]:
    """Yield what may be wrong before the leader dies. It begins when copies are late, and stays."""
    yield None, script_of(place)
    for fault in (PolicyFault.SLOW_FOLLOWER, PolicyFault.MINORITY_CUT):
        for hit in (place, ReplicaPlacement(place.leader, place.second, place.first)):
            yield fault, script_of(hit, fault, SETTLED_MS)
    yield PolicyFault.MAJORITY_CUT, script_of(place, PolicyFault.MAJORITY_CUT, SETTLED_MS)


def _window(world: Scenario) -> range:
    """Return the events after which the leader may die."""
    with LabRun(world, check=False) as run:
        run.run_to_time(SETTLED_MS * 1_000)
        begin, known = run.event_number, len(run.world.history.sends_returned)
        while run.event_number - begin < EVENTS_MAX and len(run.world.history.sends_returned) < known + ANSWERS:
            run.step()
        return range(begin, run.event_number + 1)


def _kill_leader(run: LabRun, place: ReplicaPlacement) -> str:
    """Kill the present leader; cuts heal, so that the remaining machines can agree. Return the run's link at that
    moment.
    """
    run.apply(parse_command({"kind": "crash", "target": leader_of(run) or place.leader}))
    run.apply(parse_command({"kind": "heal"}))
    return run.link()
