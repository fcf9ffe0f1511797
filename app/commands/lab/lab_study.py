"""``glassmq lab study``: a table of what one decision saves and costs, computed by runs."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

#: Seeds of the study ``inconsistency-window``.
_SEEDS = range(1, 51)


@click.command("study")
@click.argument(
    "name", type=click.Choice(["more-queues", "asynchronous-steps", "inconsistency-window", "broker-memory"])
)
@click.option(
    "--write",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Write the table into this document, between a comment with the name of this command and a comment "end".',
)
def study(name: str, path: Path | None) -> None:
    """Print what one decision saves and costs, by runs of the lab or of parts of the engine.

    Times are virtual, the same on every machine.

    \b
    more-queues           a topic gets more queues under load: which orders move, and lose their order
    asynchronous-steps    three calls against one message: what the caller waits, how long the work lags
    inconsistency-window  bank transfers: how long the sum of both accounts is off, over many seeds
    broker-memory         what a broker would have to keep and look up to deliver everything once

    \b
    Examples:
      glassmq lab study inconsistency-window
      glassmq lab study broker-memory --write docs/semantics/idempotence.md
    """
    from app.commands.document_table import read_with_place, write_table
    from engine.lab.run.spread import silence_logging

    command = f"glassmq lab study {name}"
    if path is not None:
        read_with_place(path, command)
    silence_logging()
    rows = [*STUDIES[name]()]
    rows.insert(1, ["---"] * len(rows[0]))
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    if path is None:
        click.echo(table, nl=False)
    else:
        write_table(path, command, table)


def _more_queues() -> Iterator[Sequence[str]]:
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.more_queues import growth_of

    scenario = load_scenario("selector-and-queue-count")
    ways = {"ByModulo": "hash modulo queues", "ByRing": "consistent hash"}
    yield "queues", "backlog", "selector", "orders that changed queues", "orders out of order"
    for queues, listener_ms in ((5, 1_000), (6, 1_000), (8, 1_000), (8, 50)):
        for row in growth_of(scenario, queues, listener_ms):
            moved, broken = f"{row.moved} of {row.orders}", f"{row.broken} of {row.orders}"
            yield f"4 to {queues}", "none" if listener_ms == 50 else "yes", ways[row.topic], moved, broken


def _asynchronous_steps() -> Iterator[Sequence[str]]:
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.asynchronous_steps import step_figures

    names = {"sync": "three calls, one after the other", "async": "one message, three groups"}
    yield (
        "an order is",
        "third service",
        "confirmed",
        "the caller waits (median)",
        "a step is done after the answer (median)",
        "longest",
        "half done, not confirmed",
        "steps done again",
    )
    for row in step_figures(load_scenario("asynchronous-steps")):
        yield (
            names[row.way],
            "runs" if row.is_healthy else "dead for 12 s",
            f"{len(row.answered_us)} of {row.orders}",
            _ms(statistics.median(row.answered_us)),
            _ms(statistics.median(row.lags_us)),
            _ms(max(row.lags_us)),
            str(row.half_done),
            str(row.again),
        )


def _inconsistency_window() -> Iterator[Sequence[str]]:
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.inconsistency_window import window_figures

    bank, two_phase = load_scenario("bank-transaction"), load_scenario("xa-two-phase")
    calm = dataclasses.replace(bank, script=())
    yield (
        "transfers",
        "windows",
        "median",
        "90 %",
        "99 %",
        "longest",
        "never closed",
        "time during which the sum is off",
    )
    for name, scenario, random_faults, transfers in (
        ("by message, nothing breaks", calm, False, ""),
        ("by message, the scenario's two faults", bank, False, ""),
        ("by message, random faults", calm, True, ""),
        ("by two-phase commit, nothing breaks", dataclasses.replace(two_phase, script=()), False, "xa-"),
    ):
        figures = window_figures(scenario, _SEEDS, random_faults=random_faults, transfers=transfers)
        percentiles = [_ms(figures.percentile_us(percent)) for percent in (50, 90, 99)]
        counts = (str(figures.open_at_end), f"{figures.off_ratio:.2%}")
        yield name, f"{len(figures.windows_us):,}", *percentiles, _ms(figures.windows_us[-1]), *counts


def _broker_memory() -> Iterator[Sequence[str]]:
    from engine.lab.sweep.broker_deduplication import by_sequence, by_unique_id

    yield "the broker recognizes", "by", "messages", "it keeps", "per message", "places read per message"
    yield "nothing: at least once", "-", "100,000", "0 bytes", "0 bytes", "0"
    numbers = "the last batches of each producer and partition"
    for what, price in (
        ("a resend of 100 producers", by_sequence(100_000, 100, 8)),
        ("the same, 50 records a batch", by_sequence(100_000, 100, 8, 50)),
        ("a resend of 10,000 producers", by_sequence(100_000, 10_000, 8)),
    ):
        yield what, numbers, *_price(price.messages, price.state_bytes, price.look_ups)
    for messages in (200_000, 2_000_000):
        price = by_unique_id(messages)
        yield "every id, as long as messages are kept", "an index", *_price(messages, price.state_bytes, price.look_ups)


def _price(messages: int, state_bytes: int, look_ups: float) -> Sequence[str]:
    return f"{messages:,}", f"{state_bytes:,} bytes", f"{state_bytes / messages:.1f} bytes", f"{look_ups:.2f}"


def _ms(us: float) -> str:
    return f"{us / 1_000:,.0f} ms"


#: Name of a study -> the heading and the rows of its table.
STUDIES: Mapping[str, Callable[[], Iterator[Sequence[str]]]] = {
    "more-queues": _more_queues,
    "asynchronous-steps": _asynchronous_steps,
    "inconsistency-window": _inconsistency_window,
    "broker-memory": _broker_memory,
}
