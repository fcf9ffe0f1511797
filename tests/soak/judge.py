"""What a soak must show. Each judgement passes, fails, or says that the run cannot tell."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from tests.soak.history import History, percentile
from tests.soak.slope import common_slope
from tests.soak.streams import FLOOD, Fate, StreamLedger

#: A leak is growth that is certainly more than this, after at least this many judged minutes.
MEMORY_LIMIT_MIB_PER_HOUR = 60.0
FDS_LIMIT_PER_HOUR = 20.0
SLOPE_MINUTES_MIN = 8.0
#: Of memory of its own, in any process of the broker: twenty readers that never read and a flood included.
MEMORY_LIMIT_MIB = 500.0
#: Far above what a quiet machine needs: the machine is busy with all these clients, and perhaps with others' work.
PAGE_P50_LIMIT_MS = 100.0
PAGE_P99_LIMIT_MS = 2_000.0
#: The live page brings something at least every few seconds, outside restarts.
PAGE_SILENCE_LIMIT_S = 15.0
#: An interval that is wider than this many limits, and contains the limit, shows nothing.
_WIDTH_LIMITS = 4
_EXAMPLES = 5


class Outcome(StrEnum):
    """How one judgement ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True)
class Judgement:
    """``name`` is a key of the texts, and ``figures`` fill them in."""

    name: str
    outcome: Outcome
    figures: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def judge(history: History) -> list[Judgement]:
    """All judgements, the gravest first. Of a run that broke off nobody knows what would have been found."""
    for ledger in history.ledgers:
        ledger.settle_the_order()
    return [
        Judgement("ran-through", _verdict(not history.broke), {"examples": [history.broke] if history.broke else []}),
        *([] if history.broke else [_stored(history.ledgers), _consumed(history.ledgers)]),
        _rolled_back(history.ledgers),
        _order(history.ledgers),
        _tracebacks(history),
        _clients(history),
        _memory_peak(history),
        _slope(history, "memory-flat", "own_mib", MEMORY_LIMIT_MIB_PER_HOUR),
        _slope(history, "fds-flat", "fds", FDS_LIMIT_PER_HOUR),
        _page(history),
        _live_page(history),
    ]


def _verdict(holds: bool) -> Outcome:
    return Outcome.PASSED if holds else Outcome.FAILED


def _stored(ledgers: list[StreamLedger]) -> Judgement:
    """Lost write: acknowledged, and not in the broker at the end."""
    acknowledged = sum(ledger.acknowledged for ledger in ledgers)
    lost = {ledger.stream.name: ledger.lost(Fate.STORED) for ledger in _without_transactions(ledgers)}
    return _loss("nothing-lost", lost, acknowledged)


def _consumed(ledgers: list[StreamLedger]) -> Judgement:
    """Skipped: acknowledged (or committed), and its group never consumed it."""
    with_group = [ledger for ledger in ledgers if ledger.stream != FLOOD]
    acknowledged = sum(ledger.acknowledged for ledger in with_group)
    again = sum(ledger.consumed_again for ledger in with_group)
    lost = {ledger.stream.name: ledger.lost(Fate.CONSUMED) for ledger in with_group}
    return _loss("all-consumed", lost, acknowledged, again=again)


def _without_transactions(ledgers: list[StreamLedger]) -> Iterable[StreamLedger]:
    """What was acknowledged of a transaction is its half: whether the message came of it, its group tells."""
    return (ledger for ledger in ledgers if ledger.stream.kind != "transactions")


def _loss(name: str, lost: dict[str, list[int]], of: int, **figures: int) -> Judgement:
    count = sum(map(len, lost.values()))
    examples = {stream: numbers[:_EXAMPLES] for stream, numbers in lost.items() if numbers}
    # A run in which nothing was acknowledged shows nothing.
    return Judgement(name, _verdict(count == 0 < of), {"lost": count, "of": of, "examples": examples, **figures})


def _rolled_back(ledgers: list[StreamLedger]) -> Judgement:
    """Ghost read: rolled back, and consumed."""
    seen = {ledger.stream.name: ledger.seen_in_spite() for ledger in ledgers}
    count = sum(map(len, seen.values()))
    of = sum(fate & Fate.ROLLED_BACK != 0 for ledger in ledgers for fate in ledger.fates)
    return Judgement("rollbacks-unseen", _verdict(count == 0), {"seen": count, "of": of})


def _order(ledgers: list[StreamLedger]) -> Judgement:
    """Out of order: delivered for the first time after a later message of its queue."""
    orderly = [ledger for ledger in ledgers if ledger.stream.kind == "orderly"]
    swapped = [(ledger.stream.name, *place) for ledger in orderly for place in ledger.swapped]
    figures = {
        "swapped": len(swapped),
        "of": sum(ledger.consumed for ledger in orderly),
        "examples": swapped[:_EXAMPLES],
    }
    return Judgement("order-kept", _verdict(not swapped), figures)


def _tracebacks(history: History) -> Judgement:
    figures = {"count": len(history.tracebacks), "examples": history.tracebacks[:_EXAMPLES]}
    return Judgement("no-traceback", _verdict(not history.tracebacks), figures)


def _clients(history: History) -> Judgement:
    figures = {"count": len(history.ended_early), "examples": history.ended_early[:_EXAMPLES]}
    return Judgement("clients-alive", _verdict(not history.ended_early), figures)


def _memory_peak(history: History) -> Judgement:
    peak = max((sample.own_mib for sample in history.samples if sample.own_mib is not None), default=0.0)
    figures = {"peak": peak, "limit": MEMORY_LIMIT_MIB, "cut": history.readers_cut}
    return Judgement("memory-bounded", _verdict(0 < peak <= MEMORY_LIMIT_MIB), figures)


def _slope(history: History, name: str, figure: str, limit: float) -> Judgement:
    """A leak is reported only where the whole interval is above the limit: noise is not a leak, and much noise shows
    nothing.
    """
    slope = common_slope(history.judged_lives(figure))
    if slope is None:
        return Judgement(name, Outcome.UNCERTAIN, {"minutes": 0.0, "least": SLOPE_MINUTES_MIN})
    figures = {**asdict(slope), "limit": limit, "least": SLOPE_MINUTES_MIN}
    is_wide = slope.high - slope.low > _WIDTH_LIMITS * limit and slope.low <= limit < slope.high
    if slope.minutes < SLOPE_MINUTES_MIN or is_wide:
        return Judgement(name, Outcome.UNCERTAIN, figures)
    return Judgement(name, _verdict(slope.low <= limit), figures)


def _page(history: History) -> Judgement:
    """HTTP answers while the broker is up; one that never came counts as the slowest."""
    answers = [ms for at_s, ms in history.page_answers if not history.is_outage(at_s)]
    taken = [ms for ms in answers if ms is not None]
    p50, p99 = percentile(taken, 0.5), percentile(taken, 0.99)
    figures = {"p50": p50, "p99": p99, "of": len(answers), "failed": len(answers) - len(taken)}
    is_answered = bool(taken) and len(taken) == len(answers)
    in_time = p50 <= PAGE_P50_LIMIT_MS and p99 <= PAGE_P99_LIMIT_MS
    outcome = _in_time(history, in_time) if is_answered else Outcome.FAILED
    return Judgement("page-answers", outcome, {**figures, "limit": PAGE_P99_LIMIT_MS})


def _in_time(history: History, is_in_time: bool) -> Outcome:
    """What fails only because it took long cannot be judged where times are not judged."""
    return _verdict(is_in_time) if history.judges_times or is_in_time else Outcome.UNCERTAIN


def _live_page(history: History) -> Judgement:
    """The longest time without an update, of the time under load without restarts."""
    updates = [0.0, *(at_s for at_s in history.page_updates if at_s <= history.loaded_s), history.loaded_s]
    silences = [
        (after - before, before)
        for before, after in itertools.pairwise(updates)
        if not history.is_outage(before) and not history.is_outage(after)
    ]
    longest, at_s = max(silences, default=(0.0, 0.0))
    figures = {"silence": longest, "at": at_s, "updates": len(history.page_updates), "limit": PAGE_SILENCE_LIMIT_S}
    outcome = _in_time(history, longest <= PAGE_SILENCE_LIMIT_S) if history.page_updates else Outcome.FAILED
    return Judgement("live-page", outcome, figures)
