"""What a run says of its figures: medians, spread, ratios of the same round, the goal; and when it refuses a rate."""

from __future__ import annotations

import pytest

from tests.benchmarks.brokers import Memory, Start
from tests.benchmarks.comparison import Comparison
from tests.benchmarks.loads import LOADS, Lengths, LoadProgram, possible_loads
from tests.benchmarks.rounds import Account, Measurement, RateNotBorneOut
from tests.benchmarks.tables import Figure, figure_table, spread

OURS, REAL = "GlassMQ, compiled", "RocketMQ 4.9.7"


def one_row(figure, labels=(OURS, REAL), real=REAL):
    """The cells of a table with this figure alone."""
    return figure_table("head", [figure], labels, real).splitlines()[-1].strip("| ").split(" | ")


def measured(load, label, round_number, rate, **fields):
    account = Account(acknowledged=10, failed=1, stored=10)
    figures = {"cpu_us_per_message": 20.0, "p50_us": 0, "p99_us": 0, "load_average": 1.5, **fields}
    return Measurement(round_number, load, label, rate, account=account, **figures)


def compared(**fields):
    """Two rounds of two loads, ours twice and half as fast."""
    measurements = [
        measured("sync-1", label, number, rate * number)
        for number in (1, 2)
        for label, rate in ((OURS, 1_000.0), (REAL, 500.0))
    ]
    measurements += [measured("latency", OURS, 1, 1_000.0, p50_us=500, p99_us=4_000)]
    measurements += [measured("latency", REAL, 1, 1_000.0, p50_us=1_000, p99_us=4_000)]
    found = {
        "date": "26 November 2026",
        "program": "a program",
        "lengths": Lengths(3, 5, 200_000),
        "rounds": 2,
        "loads": [LOADS["sync-1"], LOADS["latency"]],
        "labels": [OURS, REAL],
        "real": REAL,
        "measurements": measurements,
        "starts": [Start(OURS, 0.5, 90.0), Start(REAL, 3.0, 340.0)],
        "memory": [Memory(OURS, 200.0, 80.0), Memory(REAL, 800.0, 600.0)],
        "notes": [],
    }
    return Comparison(**{**found, **fields})


# ------------------------------------------------------------------------------------------------------- figures


@pytest.mark.parametrize(
    ("values", "digits", "text"),
    [
        ([1_200.0, 1_450.0, 1_100.0], 0, "1,200 (1,100..1,450)"),
        ([7.0], 1, "7.0"),
        ([1.001, 1.002], 2, "1.00"),
    ],
)
def test_the_median_comes_with_its_spread_unless_nothing_was_spread(values, digits, text):
    assert spread(values, digits) == text


def test_a_ratio_is_of_the_same_round():
    figure = Figure("sends", {OURS: [100.0, 300.0, 40.0], REAL: [50.0, 100.0, 40.0]}, goal=1.25)
    assert one_row(figure) == ["sends", "100 (40..300)", "50 (40..100)", "2.00 (1.00..3.00)", "1.25: reached"]


@pytest.mark.parametrize(
    ("ours", "goal", "lower_is_better", "verdict"),
    [
        (125.0, 1.25, False, "1.25: reached"),
        (124.0, 1.25, False, "1.25: **missed**"),
        (20.0, 0.2, True, "0.2: reached"),
        (21.0, 0.2, True, "0.2: **missed**"),
        (125.0, 0.2, True, "0.2: **missed**"),
        (1.0, None, True, "none"),
    ],
)
def test_a_figure_reaches_its_goal_or_misses_it(ours, goal, lower_is_better, verdict):
    assert one_row(Figure("x", {OURS: [ours], REAL: [100.0]}, goal, lower_is_better))[-1] == verdict


@pytest.mark.parametrize(("labels", "real"), [((OURS,), None), ((REAL,), REAL), ((OURS, "other"), None)])
def test_without_a_real_broker_beside_ours_there_is_no_ratio(labels, real):
    figure = Figure("x", {OURS: [1.0], REAL: [1.0], "other": [1.0]})
    assert one_row(figure, labels, real) == ["x", *("1" for _ in labels)]


# ------------------------------------------------------------------------------------------------------ documents


def test_the_text_tells_machine_program_lengths_and_failures():
    head = compared().as_markdown().partition("\n\n")[0].replace("\n", " ")
    for part in ("26 November 2026", "cores, Python", "Linux", "a program", "for 5 s", "200,000", "Failed sends: 6"):
        assert part in head


def test_every_kind_of_figure_has_its_table():
    text = compared().as_markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any(row.startswith("| `sync-1`") and "2.00 | 1.25: reached" in row for row in rows)
    assert any(row.startswith("| `latency`: p50") and "0.50 | 1.00 | 0.50 | 1: reached" in row for row in rows)
    assert any(row.startswith("| its p99") and "4.00 | 4.00 | 1.00 | 1: reached" in row for row in rows)
    assert any(row.startswith("| `sync-1`") and "20.0 | 20.0 | 1.00 | none" in row for row in rows)
    assert any(row.startswith("| start to first") and "0.50 | 3.00 | 0.17" in row for row in rows)
    assert any(row.startswith("| the same without pages") and "80 | 600 | 0.13" in row for row in rows)


def test_what_could_not_be_measured_is_noted():
    assert "Note: no Java.\n" in compared(notes=["no Java"]).as_markdown()


def test_loads_beyond_a_program_are_left_out_with_a_note():
    program = LoadProgram("a small client", frozenset({"sync"}), lambda *_: pytest.fail("started"))
    loads, notes = possible_loads(program, ["sync-1", "live", "batch-16x8", "drain"])
    assert [load.name for load in loads] == ["sync-1", "batch-16x8"]
    assert notes == ["left out, as a small client does not do it: live, drain"]


# -------------------------------------------------------------------------------------------------------- accounts


@pytest.mark.parametrize(
    ("load", "account"),
    [
        ("sync-1", Account(acknowledged=10, failed=0, stored=10)),
        ("sync-1", Account(acknowledged=10, failed=2, stored=12)),
        ("live", Account(acknowledged=10, failed=1, stored=11, consumed=11)),
        ("drain", Account(acknowledged=10, failed=0, stored=10, consumed=11)),
    ],
)
def test_a_rate_that_the_store_bears_out_counts(load, account):
    account.check(LOADS[load])


@pytest.mark.parametrize(
    ("load", "account"),
    [
        ("sync-1", Account(acknowledged=10, failed=0, stored=9)),
        ("sync-1", Account(acknowledged=10, failed=2, stored=13)),
        ("live", Account(acknowledged=10, failed=0, stored=10, consumed=11)),
        ("live", Account(acknowledged=10, failed=0, stored=10, consumed=10, missing=1)),
        ("drain", Account(acknowledged=10, failed=0, stored=10, consumed=9)),
        ("orderly-drain", Account(acknowledged=10, failed=0, stored=10, consumed=10, missing=1)),
    ],
)
def test_a_rate_that_the_store_does_not_bear_out_is_refused(load, account):
    with pytest.raises(RateNotBorneOut):
        account.check(LOADS[load])
