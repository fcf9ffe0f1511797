"""Studies of what one decision saves and costs; each has its table in a document."""

from __future__ import annotations

import dataclasses
import statistics

import click

from app.commands.lab.studies.study import Findings, Study, StudyTable

#: Seeds of the study ``inconsistency-window``.
_SEEDS = range(1, 51)


@click.command("more-queues", cls=Study)
def more_queues() -> Findings:
    """Print which orders move, and lose their order, when a topic gets more queues under load."""
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.more_queues import growth_of

    scenario = load_scenario("selector-and-queue-count")
    ways = {"ByModulo": "hash modulo queues", "ByRing": "consistent hash"}
    rows = [
        {
            "queues": f"4 to {queues}",
            "backlog": "none" if listener_ms == 50 else "yes",
            "selector": ways[row.topic],
            "orders that changed queues": f"{row.moved} of {row.orders}",
            "orders out of order": f"{row.broken} of {row.orders}",
        }
        for queues, listener_ms in ((5, 1_000), (6, 1_000), (8, 1_000), (8, 50))
        for row in growth_of(scenario, queues, listener_ms)
    ]
    return Findings([StudyTable(rows)])


@click.command("asynchronous-steps", cls=Study)
def asynchronous_steps() -> Findings:
    """Print three calls against one message: how long the caller waits, and how long the work lags."""
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.asynchronous_steps import step_figures

    names = {"sync": "three calls, one after the other", "async": "one message, three groups"}
    rows = [
        {
            "an order is": names[row.way],
            "third service": "runs" if row.is_healthy else "dead for 12 s",
            "confirmed": f"{len(row.answered_us)} of {row.orders}",
            "the caller waits (median)": _ms(statistics.median(row.answered_us)),
            "a step is done after the answer (median)": _ms(statistics.median(row.lags_us)),
            "longest": _ms(max(row.lags_us)),
            "half done, not confirmed": row.half_done,
            "steps done again": row.again,
        }
        for row in step_figures(load_scenario("asynchronous-steps"))
    ]
    return Findings([StudyTable(rows)])


@click.command("inconsistency-window", cls=Study)
def inconsistency_window() -> Findings:
    """Print how long the sum of both accounts of a bank transfer is off, over many seeds."""
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.inconsistency_window import window_figures

    bank, two_phase = load_scenario("bank-transaction"), load_scenario("xa-two-phase")
    calm = dataclasses.replace(bank, script=())
    rows = []
    for name, scenario, random_faults, transfers in (
        ("by message, nothing breaks", calm, False, ""),
        ("by message, the scenario's two faults", bank, False, ""),
        ("by message, random faults", calm, True, ""),
        ("by two-phase commit, nothing breaks", dataclasses.replace(two_phase, script=()), False, "xa-"),
    ):
        figures = window_figures(scenario, _SEEDS, random_faults=random_faults, transfers=transfers)
        rows.append(
            {
                "transfers": name,
                "windows": len(figures.windows_us),
                "median": _ms(figures.percentile_us(50)),
                "90 %": _ms(figures.percentile_us(90)),
                "99 %": _ms(figures.percentile_us(99)),
                "longest": _ms(figures.windows_us[-1]),
                "never closed": figures.open_at_end,
                "time during which the sum is off": f"{figures.off_ratio:.2%}",
            }
        )
    return Findings([StudyTable(rows)])


@click.command("broker-memory", cls=Study)
def broker_memory() -> Findings:
    """Print what a broker would have to keep and look up to deliver everything once."""
    from engine.lab.sweep.broker_deduplication import Price, by_sequence, by_unique_id

    numbers, ids = "the last batches of each producer and partition", "every id, as long as messages are kept"
    prices = (
        ("nothing: at least once", "-", Price(100_000, 0, 0)),
        ("a resend of 100 producers", numbers, by_sequence(100_000, 100, 8)),
        ("the same, 50 records a batch", numbers, by_sequence(100_000, 100, 8, 50)),
        ("a resend of 10,000 producers", numbers, by_sequence(100_000, 10_000, 8)),
        *((ids, "an index", by_unique_id(messages)) for messages in (200_000, 2_000_000)),
    )
    rows = [
        {
            "the broker recognizes": what,
            "by": by,
            "messages": price.messages,
            "it keeps": f"{price.state_bytes:,} bytes",
            "per message": f"{price.state_bytes / price.messages:.1f} bytes" if price.state_bytes else "0 bytes",
            "places read per message": f"{price.look_ups:.2f}" if price.look_ups else 0,
        }
        for what, by, price in prices
    ]
    return Findings([StudyTable(rows)])


def _ms(us: float) -> str:
    return f"{us / 1_000:,.0f} ms"
