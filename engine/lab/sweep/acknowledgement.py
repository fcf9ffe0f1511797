"""Acknowledgement and loss: one scenario under each policy, with a failure of its broker directly after each
acknowledgement, one run per failure.

RocketMQ: ``flushDiskType`` and ``brokerRole`` of a broker. Lost is what was answered with SEND_OK and is neither there
when the broker is back nor on a slave. The majority is that of a master which waits for its slaves: there is no
election.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from engine.lab.nodes.history import SendReturned
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.node_spec import SettingValue
from engine.lab.scenario.scenario import Scenario
from engine.replication.ha.ha_config import HaRole, ReplicaAcks

#: Downtime of the broker, after which it is examined.
_AWAY_MS = 1_000
_BACK_MS = 1_000


class Acknowledged(StrEnum):
    """The place where a message is stored when its producer receives the acknowledgement."""

    IN_MEMORY = "in memory"
    ON_DISK = "on disk"
    BY_A_REPLICA = "by a replica"
    BY_A_MAJORITY = "by a majority"


class AcknowledgementPolicy(NamedTuple):
    """Configuration of a scenario's broker.

    :ivar slaves: how many follow it.
    """

    flush: str
    slaves: int = 0
    replica_acks: str = ReplicaAcks.ONE.value


POLICIES = {
    Acknowledged.IN_MEMORY: AcknowledgementPolicy("async"),
    Acknowledged.ON_DISK: AcknowledgementPolicy("sync"),
    Acknowledged.BY_A_REPLICA: AcknowledgementPolicy("async", 1),
    Acknowledged.BY_A_MAJORITY: AcknowledgementPolicy("async", 4, ReplicaAcks.MAJORITY.value),
}


class FailureKind(StrEnum):
    """A way in which the broker fails."""

    KILL = "crash"
    POWER_CUT = "crash-power"
    #: The same, but some sectors of what was not flushed are on disk, others are not.
    TORN_WRITE = "torn-write"
    #: The machine is destroyed: neither the process nor its disk comes back.
    GONE = "gone"


_COMMANDS = {FailureKind.GONE: "crash"}


class FailureDamage(NamedTuple):
    """Consequences of one kind of failure.

    :ivar runs: number of failures, each in a run of its own.
    :ivar runs_with_loss: after how many of them something acknowledged was missing.
    :ivar lost_max: most messages that one of them lost.
    :ivar back_us_max: longest time from the acknowledgement of a lost message to the failure; 0: nothing was lost.
    """

    runs: int
    runs_with_loss: int
    lost_max: int
    back_us_max: int


class PolicyFigures(NamedTuple):
    """Results of one policy.

    :ivar send_us: median duration of a send without failures.
    """

    acknowledged: Acknowledged
    send_us: int
    damages: dict[FailureKind, FailureDamage]


def figures_of(scenario: Scenario, acknowledged: Acknowledged, *, every: int = 1) -> PolicyFigures:
    """Fail the first broker of ``scenario`` after each ``every``-th acknowledgement, by each kind of failure.

    The scenario's script is left out.
    """
    broker, policy = scenario.of_kind(BrokerSpec)[0], POLICIES[acknowledged]
    replicas: dict[str, SettingValue] = (
        {
            "broker_role": HaRole.SYNC_MASTER.value,
            "replica_acks": policy.replica_acks,
            "replica_count": policy.slaves + 1,
        }
        if policy.slaves
        else {}
    )
    reported = dataclasses.replace(broker, flush=policy.flush, settings={**broker.settings, **replicas})
    slaves = [
        BrokerSpec(f"{broker.name}-slave-{number + 1}", slave_of=broker.name, settings=broker.settings)
        for number in range(policy.slaves)
    ]
    nodes = (*(reported if spec is broker else spec for spec in scenario.nodes), *slaves)
    scenario = dataclasses.replace(scenario, nodes=nodes, script=(), breakpoints=())
    with LabRun(scenario) as run:
        run.run_to_time(scenario.duration_ms * 1_000)
        begun = {entry.key: entry.time_us for entry in run.world.history.sends_invoked}
        sends = _acknowledged(run)
    send_us = round(statistics.median(entry.time_us - begun[entry.key] for entry in sends))
    events = [entry.event for entry in sends[::every]]
    return PolicyFigures(
        acknowledged, send_us, {failure: _damage(scenario, broker.name, failure, events) for failure in FailureKind}
    )


def _damage(scenario: Scenario, broker: str, failure: FailureKind, events: Sequence[int]) -> FailureDamage:
    ages = [_fail(scenario, broker, failure, event) for event in events]
    return FailureDamage(
        len(ages),
        sum(bool(lost) for lost in ages),
        max((len(lost) for lost in ages), default=0),
        max((age for lost in ages for age in lost), default=0),
    )


def _fail(scenario: Scenario, broker: str, failure: FailureKind, event: int) -> list[int]:
    """Return for each lost message how long before the failure it was acknowledged, in microseconds."""
    with LabRun(scenario) as run:
        assert run.checkers is not None, "runs are checked unless said otherwise"
        run.run_events(event)
        struck_us, acknowledged = run.now_us, _acknowledged(run)
        run.apply(parse_command({"kind": _COMMANDS.get(failure, failure.value), "target": broker}))
        run.run_to_time(struck_us + _AWAY_MS * 1_000)
        watch = run.checkers.watch
        there = list(watch.slaves.values())
        if failure is not FailureKind.GONE:
            run.apply(parse_command({"kind": "restart", "target": broker}))
            run.run_to_time(struck_us + (_AWAY_MS + _BACK_MS) * 1_000)
            assert run.world.nodes[broker].status == "running"
            there.append(watch.brokers[broker])
        stored = {message.first_key: None for one in there for message in one.log.values()}
        return [struck_us - entry.time_us for entry in acknowledged if entry.key not in stored]


def _acknowledged(run: LabRun) -> list[SendReturned]:
    return [entry for entry in run.world.history.sends_returned if entry.status == "ok" and entry.detail == "SEND_OK"]
