"""What a run beside the real broker has found, as text for a document."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.benchmarks.brokers import Memory, Start
from tests.benchmarks.document import machine, processor_and_system
from tests.benchmarks.loads import BODY_BYTES, LATENCY, Lengths, Load
from tests.benchmarks.rounds import QUEUES, Measurement
from tests.benchmarks.tables import GOAL, Figure, figure_table

_WIDTH = 140


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
            parts.append(
                self._table("messages a second; more is better", self._figures(sent, lambda m: m.messages_per_second))
            )
        if LATENCY in self.loads:
            parts.append(self._table("born to consumed, ms; less is better", self._latencies()))
        cpu = self._figures(self.loads, lambda one: one.cpu_us_per_message, lower_is_better=True, digits=1)
        parts.append(self._table("broker's processor time per message, µs; less is better", cpu))
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
            f"Failed sends: {failed}. Median (least..most), ratios of the same round; the goal is a ratio of {GOAL}, "
            f"or {1 / GOAL:g} where less is better."
        )
        return textwrap.fill(text, _WIDTH) + "\n"

    def _figures(
        self,
        loads: Sequence[Load],
        value: Callable[[Measurement], float],
        lower_is_better: bool = False,
        digits: int = 0,
    ) -> list[Figure]:
        return [
            Figure(f"`{load.name}`: {load.text}", self._values(load, value), lower_is_better, digits) for load in loads
        ]

    def _values(self, load: Load, value: Callable[[Measurement], float]) -> dict[str, list[float]]:
        found = sorted((one for one in self.measurements if one.load == load.name), key=lambda one: one.round_number)
        return {label: [value(one) for one in found if one.label == label] for label in self.labels}

    def _latencies(self) -> list[Figure]:
        return [
            Figure(f"`latency`: p50 of {LATENCY.text}", self._values(LATENCY, lambda m: m.p50_us / 1e3), True, 2),
            Figure("its p99", self._values(LATENCY, lambda m: m.p99_us / 1e3), True, 2),
        ]

    def _start_and_memory(self) -> list[Figure]:
        def of_starts(value: Callable[[Start], float]) -> dict[str, list[float]]:
            return {label: [value(one) for one in self.starts if one.label == label] for label in self.labels}

        def of_memory(value: Callable[[Memory], float]) -> dict[str, list[float]]:
            return {label: [value(one) for one in self.memory if one.label == label] for label in self.labels}

        return [
            Figure("start to first accepted message, s", of_starts(lambda one: one.seconds), True, 2),
            Figure("resident memory then, MiB", of_starts(lambda one: one.resident_mib), True),
            Figure("resident memory behind all loads, MiB", of_memory(lambda one: one.resident_mib), True),
            Figure("the same without pages of files, such as the log's", of_memory(lambda one: one.own_mib), True),
        ]
