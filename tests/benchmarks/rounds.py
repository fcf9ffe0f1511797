"""Loads on clusters, in turns: what disturbs the machine disturbs all."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.loads import Lengths, Load, LoadProgram
from tests.interop.harness.clients import Clients
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.wire import max_offsets
from tests.support.waiting import DeadlinePassed, wait_until

QUEUES = 8
#: Beyond warm-up and window: the program's start, a backlog sent and taken twice, the end of all that was begun.
_DEADLINE_S = 180
_STORED_DEADLINE_S = 10
#: Java compiles what is used often: a cold broker would be measured in the first round.
_ROUND_0 = Lengths(warm_up_s=1.0, window_s=1.0, backlog=20_000)


class RateNotBorneOut(Exception):
    """What the client says and what the broker has do not fit; the message says how."""


@dataclass(frozen=True)
class Account:
    """What became of the messages of one measurement, warm-up included.

    :ivar failed: how many may or may not be stored.
    :ivar consumed: how often a listener got one.
    :ivar missing: acknowledged and never consumed.
    """

    acknowledged: int
    failed: int
    stored: int
    consumed: int = 0
    missing: int = 0

    def check(self, load: Load) -> None:
        """Raises :class:`RateNotBorneOut`: a rate must not come of messages that are lost, or were never there."""
        if not self.acknowledged <= self.stored <= self.acknowledged + self.failed:
            raise RateNotBorneOut(
                f"{self.acknowledged} messages were acknowledged, {self.failed} failed, {self.stored} are stored"
            )
        most = float("inf") if load.is_drain else self.stored
        if load.consumes and (self.missing or not self.acknowledged <= self.consumed <= most):
            raise RateNotBorneOut(
                f"of {self.acknowledged} messages {self.missing} were not consumed; "
                f"{self.consumed} deliveries of {self.stored} stored"
            )


@dataclass(frozen=True)
class Measurement:
    """One load on one broker in one round.

    :ivar cpu_us_per_message: processor time of the broker's processes in the measured part. On a busy machine it says
        more than the rate, which depends on the share of the processor that the broker got.
    :ivar p50_us: born to consumed, as ``p99_us``; 0 where nobody looked.
    """

    round_number: int
    load: str
    label: str
    messages_per_second: float
    cpu_us_per_message: float
    p50_us: int
    p99_us: int
    account: Account
    load_average: float


def measure_load(
    cluster: Cluster, program: LoadProgram, load: Load, round_number: int, lengths: Lengths, folder: Path
) -> Measurement:
    """Run ``load`` on a new topic. Raises :class:`RateNotBorneOut`."""
    topic = cluster.create_topic(f"Bench_{load.name}_{round_number}", QUEUES)
    process = program.start(Clients(cluster, folder), load, topic, lengths)
    try:
        _wait_for(process, "begin", lengths)
        cpu_before_s = cluster.cpu_seconds()
        end = _wait_for(process, "end", lengths)
        cpu_s = cluster.cpu_seconds() - cpu_before_s
        result = _wait_for(process, "result", lengths)
    finally:
        process.kill()
    if not end["messages"]:
        raise RateNotBorneOut(f"{load.name} on {cluster.label}: nothing was done in the measured part")
    account = Account(
        acknowledged=result["acknowledged"],
        failed=result["failed"],
        stored=_stored(cluster, topic, result["acknowledged"]),
        consumed=result.get("consumed", 0),
        missing=result.get("missing", 0),
    )
    try:
        account.check(load)
    except RateNotBorneOut as reason:
        raise RateNotBorneOut(f"{load.name} on {cluster.label}: {reason}") from None
    return Measurement(
        round_number=round_number,
        load=load.name,
        label=cluster.label,
        messages_per_second=end["messages"] / end["seconds"],
        cpu_us_per_message=cpu_s * 1e6 / end["messages"],
        p50_us=result.get("p50_us", 0),
        p99_us=result.get("p99_us", 0),
        account=account,
        load_average=os.getloadavg()[0],
    )


def _wait_for(process: ManagedProcess, name: str, lengths: Lengths) -> dict[str, Any]:
    """The line of that name; raises where the program has ended without it."""

    def found() -> list[dict[str, Any]]:
        is_running = process.is_running  # asked first: what ends now may have printed before
        events = [event for event in process.events() if event["event"] == name]
        if not events and not is_running:
            raise RuntimeError(f"{process.name} ended early:\n{process.output_end()}")
        return events

    deadline_s = lengths.warm_up_s + lengths.window_s + _DEADLINE_S
    return wait_until(found, f"{process.name} to print {name}", deadline_s, process.output_end)[0]


def _stored(cluster: Cluster, topic: str, expected: int) -> int:
    """How many messages the topic has; commits are sent without waiting, so the last ones get a moment."""

    def is_there() -> bool:
        return sum(max_offsets(cluster.broker, topic, QUEUES)) >= expected

    try:
        wait_until(is_there, f"{expected} messages in {topic}", _STORED_DEADLINE_S)
    except DeadlinePassed:
        pass  # the account says what is wrong
    return sum(max_offsets(cluster.broker, topic, QUEUES))


def run_rounds(
    clusters: list[Cluster], program: LoadProgram, loads: list[Load], rounds: int, lengths: Lengths, folder: Path
) -> list[Measurement]:
    """Every load on every cluster, ``rounds`` times; the order of the clusters turns round every time.

    A short round before them counts for nothing: it warms up the brokers.
    """
    found = []
    for number in range(rounds + 1):
        order = clusters if number % 2 else clusters[::-1]
        for load in loads:
            for cluster in order:
                clients_folder = folder / f"{number}-{load.name}-{cluster.broker_port}"
                one = measure_load(cluster, program, load, number, lengths if number else _ROUND_0, clients_folder)
                found += [one] if number else []
                print(f"  {_progress(one)}", file=sys.stderr)
    return found


def _progress(one: Measurement) -> str:
    delays = f"  p50 {one.p50_us:,} us, p99 {one.p99_us:,} us" if one.p99_us else ""
    return (
        f"round {one.round_number}  {one.load:<14} {one.label:<22} {one.messages_per_second:>9,.0f} msg/s"
        f"  {one.cpu_us_per_message:6.1f} us each{delays}"
    )
