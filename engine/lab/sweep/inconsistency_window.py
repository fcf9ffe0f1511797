"""Windows of inconsistency of a transfer scenario, over many seeds: how long two banks disagree.

A window lasts from the first bank's commit of a transfer to the other's: meanwhile the sum of both accounts is wrong.
Eventual consistency promises that each ends, but not when; with strong consistency none is visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Scenario
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.sweep import run_with_faults


class WindowFigures(NamedTuple):
    """Figures over all transfers of all seeds.

    :ivar windows_us: their lengths, in ascending order.
    :ivar open_at_end: transfers that one bank had done and the other had not when the story ended.
    :ivar off_ratio: the share of the time during which the sum was off.
    """

    windows_us: Sequence[int]
    open_at_end: int
    off_ratio: float

    def percentile_us(self, percent: int) -> int:
        """Return a length that at most ``100 - percent`` % of the windows exceed."""
        return self.windows_us[min(len(self.windows_us) - 1, len(self.windows_us) * percent // 100)]


def window_figures(
    scenario: Scenario, seeds: Sequence[int], *, random_faults: bool = False, transfers: str = ""
) -> WindowFigures:
    """Run the scenario with each seed, optionally with random faults within its fault model, and measure.

    :param transfers: prefix of the keys of the transfers that count.
    """
    windows: list[int] = []
    still_open = off_us = 0

    def measure(run: LabRun) -> None:
        nonlocal still_open, off_us
        flow, off_since = MoneyFlow(), -1
        for entry in run.world.history.bank_entries:
            if entry.key.startswith(transfers):
                flow.take(entry)
            is_off = bool(flow.in_flight or flow.from_nowhere)
            if is_off and off_since < 0:
                off_since = entry.time_us
            elif not is_off and off_since >= 0:
                off_us += entry.time_us - off_since
                off_since = -1
        off_us += run.now_us - off_since if off_since >= 0 else 0
        windows.extend(each.window_us for each in flow.transfers.values() if each.window_us is not None)
        still_open += sum(bool(each.in_flight or each.from_nowhere) for each in flow.transfers.values())

    for seed in seeds:
        run_with_faults(scenario, seed, draw_faults(scenario, seed) if random_faults else (), measure)
    return WindowFigures(sorted(windows), still_open, off_us / (len(seeds) * scenario.duration_ms * 1_000))
