"""The results of a run next to the real broker, as text for a document."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.benchmarks.brokers import Memory, Start
from tests.benchmarks.document import machine, processor_and_system
from tests.benchmarks.loads import BODY_BYTES, LATENCY, Lengths, Load
from tests.benchmarks.rounds import QUEUES, Measurement
from tests.benchmarks.tables import Figure, figure_table

_WIDTH = 140
#: The ratios that are wanted, ours to the real broker's.
_RATE_GOAL = 1.25
_LATENCY_GOAL = 1.0
_START_GOAL = 0.1
_MEMORY_GOAL = 0.2


@dataclass(frozen=True)
class Comparison:
    """Everything that was measured.

    :ivar labels: of the brokers, ours first.
    :ivar real: label of the real broker, None: it did not run.
    :ivar date: such as ``26 November 2026``.
    :ivar notes: what could not be measured, and why.
    """

    date: str
    program: str
    lengths: Lengths
    rounds: int
    loads: Sequence[Load]
    labels: Sequence[str]
    real: str | None
    measurements: Sequence[Measurement]
    starts: Sequence[Start]
    memory: Sequence[Memory]
    notes: Sequence[str]

    def as_markdown(self) -> str:
        """A head, then a table for each kind of figure."""
        parts = [self._head(), *(f"Note: {note}.\n" for note in self.notes)]
        sent = [load for load in self.loads if load is not LATENCY]
        if sent:
            parts.append(self._table("messages a second; more is better", self._rates(sent)))
        if LATENCY in self.loads:
            parts.append(self._table("born to consumed, ms; less is better", self._latencies()))
        parts.append(self._table("broker's processor time per message, µs; less is better", self._processor_times()))
        parts.append(self._table("start and memory; less is better", self._start_and_memory()))
        return "\n".join(parts)

    def _table(self, head: str, figures: Sequence[Figure]) -> str:
        return figure_table(head, figures, self.labels, self.real)

    def _head(self) -> str:
        averages = [one.load_average for one in self.measurements]
        failed = sum(one.account.failed for one in self.measurements)
        text = (
            f"{self.date}; {machine(averages)}, {processor_and_system()}; {self.program}; bodies of {BODY_BYTES} "
            f"bytes, {QUEUES} queues, asynchronous flush. Rounds: {self.rounds}. Each load warms up for "
            f"{self.lengths.warm_up_s:g} s and is measured for {self.lengths.window_s:g} s; a backlog has "
            f"{self.lengths.backlog:,} messages, which one group takes to warm up and the next while it is measured. "
            f"Failed sends: {failed}. Median (least..most), ratios of the same round; a goal is a ratio."
        )
        return textwrap.fill(text, _WIDTH) + "\n"

    def _rates(self, loads: Sequence[Load]) -> list[Figure]:
        return [
            Figure(_name(load), self._values(load, lambda one: one.messages_per_second), _RATE_GOAL) for load in loads
        ]

    def _processor_times(self) -> list[Figure]:
        return [
            Figure(
                _name(load),
                self._values(load, lambda one: one.cpu_us_per_message),
                lower_is_better=True,
                digits=1,
            )
            for load in self.loads
        ]

    def _values(self, load: Load, value: Callable[[Measurement], float]) -> dict[str, list[float]]:
        found = sorted((one for one in self.measurements if one.load == load.name), key=lambda one: one.round_number)
        return {label: [value(one) for one in found if one.label == label] for label in self.labels}

    def _latencies(self) -> list[Figure]:
        return [
            Figure(name, self._values(LATENCY, value), _LATENCY_GOAL, lower_is_better=True, digits=2)
            for name, value in (
                (f"`latency`: p50 of {LATENCY.text}", lambda one: one.p50_us / 1e3),
                ("its p99", lambda one: one.p99_us / 1e3),
            )
        ]

    def _start_and_memory(self) -> list[Figure]:
        def of_starts(value: Callable[[Start], float]) -> dict[str, list[float]]:
            return {label: [value(one) for one in self.starts if one.label == label] for label in self.labels}

        def of_memory(value: Callable[[Memory], float]) -> dict[str, list[float]]:
            return {label: [value(one) for one in self.memory if one.label == label] for label in self.labels}

        memory = [
            ("resident memory then, MiB", of_starts(lambda one: one.resident_mib)),
            ("resident memory after all loads, MiB", of_memory(lambda one: one.resident_mib)),
            ("the same without pages of files, such as the log's", of_memory(lambda one: one.own_mib)),
        ]
        return [
            Figure("start to first accepted message, s", of_starts(lambda one: one.seconds), _START_GOAL, True, 2),
            *(Figure(name, values, _MEMORY_GOAL, True) for name, values in memory),
        ]


def _name(load: Load) -> str:
    return f"`{load.name}`: {load.text}"
