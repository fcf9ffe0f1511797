"""Studies of what one decision saves and costs; each has its table in a document."""

from __future__ import annotations

import dataclasses
import statistics

import click

from app.commands.lab.studies.study import Findings, Study, Table

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
        (
            f"4 to {queues}",
            "none" if listener_ms == 50 else "yes",
            ways[row.topic],
            f"{row.moved} of {row.orders}",
            f"{row.broken} of {row.orders}",
        )
        for queues, listener_ms in ((5, 1_000), (6, 1_000), (8, 1_000), (8, 50))
        for row in growth_of(scenario, queues, listener_ms)
    ]
    columns = "queues", "backlog", "selector", "orders that changed queues", "orders out of order"
    return Findings([Table(columns, rows)])


@click.command("asynchronous-steps", cls=Study)
def asynchronous_steps() -> Findings:
    """Print three calls against one message: how long the caller waits, and how long the work lags."""
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.asynchronous_steps import step_figures

    names = {"sync": "three calls, one after the other", "async": "one message, three groups"}
    rows = [
        (
            names[row.way],
            "runs" if row.is_healthy else "dead for 12 s",
            f"{len(row.answered_us)} of {row.orders}",
            _ms(statistics.median(row.answered_us)),
            _ms(statistics.median(row.lags_us)),
            _ms(max(row.lags_us)),
            row.half_done,
            row.again,
        )
        for row in step_figures(load_scenario("asynchronous-steps"))
    ]
    columns = "an order is", "third service", "confirmed", "the caller waits (median)"
    steps = "a step is done after the answer (median)", "longest", "half done, not confirmed", "steps done again"
    return Findings([Table((*columns, *steps), rows)])


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
        lengths = [*map(figures.percentile_us, (50, 90, 99)), figures.windows_us[-1]]
        rows.append(
            (name, len(figures.windows_us), *map(_ms, lengths), figures.open_at_end, f"{figures.off_ratio:.2%}")
        )
    columns = "transfers", "windows", "median", "90 %", "99 %", "longest", "never closed"
    return Findings([Table((*columns, "time during which the sum is off"), rows)])


@click.command("broker-memory", cls=Study)
def broker_memory() -> Findings:
    """Print what a broker would have to keep and look up to deliver everything once."""
    from engine.lab.sweep.broker_deduplication import by_sequence, by_unique_id

    numbers, ids = "the last batches of each producer and partition", "every id, as long as messages are kept"
    prices = (
        ("a resend of 100 producers", numbers, by_sequence(100_000, 100, 8)),
        ("the same, 50 records a batch", numbers, by_sequence(100_000, 100, 8, 50)),
        ("a resend of 10,000 producers", numbers, by_sequence(100_000, 10_000, 8)),
        *((ids, "an index", by_unique_id(messages)) for messages in (200_000, 2_000_000)),
    )
    rows: list[tuple[object, ...]] = [("nothing: at least once", "-", 100_000, "0 bytes", "0 bytes", 0)]
    for what, by, price in prices:
        each = f"{price.state_bytes / price.messages:.1f} bytes"
        rows.append((what, by, price.messages, f"{price.state_bytes:,} bytes", each, f"{price.look_ups:.2f}"))
    columns = "the broker recognizes", "by", "messages", "it keeps", "per message", "places read per message"
    return Findings([Table(columns, rows)])


def _ms(us: float) -> str:
    return f"{us / 1_000:,.0f} ms"
