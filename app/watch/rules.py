"""The rules of the verdict: what they measure, from which threshold on it is a fault, and its text.

A rule measures; its threshold, which people can set, decides whether it is reported. Its texts are in
``app/translations`` under ``verdict.clause.<rule>``, its meaning under ``verdict.rule.<rule>``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from app.watch.backlogs import BacklogTrend
from app.watch.facts import Facts, GroupFacts, QueueOf
from app.watch.memory import Memory
from app.watch.words import Words, amount, listed, megabytes, milliseconds, percent, span

#: Queues that one clause names.
QUEUES_NAMED = 3
FAILURES_MS = 60_000
#: Groups whose messages have waited longer are not reported any more; the groups' table still has them.
ABANDONED_MS = 86_400_000


#: The texts of the lag's trends.
_FORMS = {
    BacklogTrend.UNKNOWN: "new",
    BacklogTrend.STEADY: "still",
    BacklogTrend.STANDING: "still",
    BacklogTrend.GROWING: "growing",
    BacklogTrend.UNREAD: "growing",
    BacklogTrend.GONE: "shrinking",
}


class Level(StrEnum):
    """The severity; ``BROKEN``: data or the store itself."""

    WELL = "well"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurement of a rule for one subject: the amount, and the suffix and values of its text.

    ``n``: the number that chooses between the text's singular and plural, where it has both.
    ``is_reported_early``: below the threshold it is not a fault yet, but the good news mentions it.
    """

    subject: str
    value: float
    words: dict[str, Words]
    form: str = ""
    n: int = 0
    is_reported_early: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``panel``: where the page shows more; ``unit``: of the threshold, from ``least`` to ``most``."""

    name: str
    panel: str
    default: int
    least: int
    most: int
    unit: str
    measure: Callable[[Facts, Memory], Iterable[Measured]]
    level: Level = Level.WARNING


def _behind(facts: Facts, memory: Memory) -> Iterator[Measured]:
    for name, group in facts.groups.items():
        if not group.members:
            continue  # the rule about unread queues reports it
        words: dict[str, Words] = {"group": name, "lag": amount(group.lag)}
        trend = memory.backlogs.trend(name)
        if trend.kind is BacklogTrend.KEEPS_UP:
            continue
        form = _FORMS[trend.kind]
        if form == "growing":
            words["rate"] = amount(max(1, round(trend.per_s)))
        elif form == "shrinking":
            words["left"] = span(trend.left_ms)
        yield Measured(name, group.lag, words, form, is_reported_early=form == "growing")


def _offline(facts: Facts, memory: Memory) -> Iterator[Measured]:
    for name, group in facts.groups.items():
        is_left = group.members == 0 and group.lag > 0
        # Readers that are not members (Spark, a pull client) still commit.
        committed = sum(progress.committed for progress in group.queues.values())
        lasts_ms = memory.stays_ms(("offline", name), committed if is_left else None)
        if is_left and lasts_ms <= ABANDONED_MS:
            words: dict[str, Words] = {"group": name, "lag": amount(group.lag), "span": span(lasts_ms)}
            yield Measured(name, lasts_ms / 1_000, words, n=group.lag, is_reported_early=True)


def _unowned(facts: Facts, memory: Memory) -> Iterator[Measured]:
    def waits(group: GroupFacts, queue: QueueOf) -> bool:
        progress = group.queues[queue]
        return group.members > 0 and progress.behind > 0 and not progress.is_owned

    return _queues(facts, memory, "unowned", lambda group, queue: waits(group, queue) or None)


def _stuck(facts: Facts, memory: Memory) -> Iterator[Measured]:
    def stands(group: GroupFacts, queue: QueueOf) -> int | None:
        progress = group.queues[queue]
        return progress.committed if group.members and progress.behind > 0 and progress.is_owned else None

    return _queues(facts, memory, "stuck", stands)


def _queues(
    facts: Facts, memory: Memory, what: str, state_of: Callable[[GroupFacts, QueueOf], object]
) -> Iterator[Measured]:
    """Yield the queues of each topic of each group that have long been in the same state; a state of None is
    healthy.
    """
    for name, group in facts.groups.items():
        of_topic: dict[str, list[tuple[int, int]]] = {}
        for queue in group.queues:
            state = state_of(group, queue)
            lasts_ms = memory.stays_ms((what, name, queue), state)
            if state is not None:
                of_topic.setdefault(queue.topic, []).append((lasts_ms, queue.queue_id))
        for topic, found in of_topic.items():
            longest_ms, _ = max(found)
            # Those that have lasted about as long are reported together; the others follow by themselves.
            ids = sorted(queue_id for lasts_ms, queue_id in found if 2 * lasts_ms >= longest_ms)
            named = listed(list(map(str, ids[:QUEUES_NAMED])) + ["…"] * (len(ids) > QUEUES_NAMED))
            words: dict[str, Words] = {"group": name, "topic": topic, "queues": named, "span": span(longest_ms)}
            yield Measured(f"{name} {topic}", longest_ms / 1_000, words, n=len(ids))


def _undecided(facts: Facts, _memory: Memory) -> Iterator[Measured]:
    if facts.undecided:
        oldest_ms, count = facts.now_ms - min(facts.undecided), len(facts.undecided)
        yield Measured("", oldest_ms / 1_000, {"count": amount(count), "span": span(oldest_ms)}, n=count)


def _given_up(facts: Facts, _memory: Memory) -> Iterator[Measured]:
    count = sum(1 for at_ms in facts.given_up if facts.now_ms - at_ms < 3_600_000)
    yield Measured("", count, {"count": amount(count)}, n=count)


def _dead(facts: Facts, memory: Memory) -> Iterator[Measured]:
    for group, number in (facts.dead_letters or {}).items():
        count = memory.news(("dead", group), number, is_stored=True)
        yield Measured(group, count, {"group": group, "count": amount(count)}, n=count)


def _idempotence(counter: str) -> Callable[[Facts, Memory], Iterator[Measured]]:
    """Return a rule for the recent growth of one counter of a group's idempotent listeners."""

    def measure(facts: Facts, memory: Memory) -> Iterator[Measured]:
        for group, counters in (facts.idempotence or {}).items():
            count = memory.news((counter, group), counters[counter])
            yield Measured(group, count, {"group": group, "count": amount(count)}, n=count)

    return measure


def _damaged(facts: Facts, _memory: Memory) -> Iterator[Measured]:
    yield Measured("", facts.damaged, {"count": amount(facts.damaged)}, n=facts.damaged)


def _missing(facts: Facts, _memory: Memory) -> Iterator[Measured]:
    return _numbers(facts.missing_numbers)


def _unknown(facts: Facts, _memory: Memory) -> Iterator[Measured]:
    return _numbers(facts.unknown_numbers)


def _numbers(of_topics: Mapping[str, int] | None) -> Iterator[Measured]:
    for topic, count in (of_topics or {}).items():
        yield Measured(topic, count, {"topic": topic, "count": amount(count)}, n=count)


def _failed(facts: Facts, memory: Memory) -> Iterator[Measured]:
    count = memory.news("put_failures", facts.put_failures, FAILURES_MS)
    yield Measured("", count, {"count": amount(count)}, n=count)


def _slow(_facts: Facts, memory: Memory) -> Iterator[Measured]:
    value_ms = memory.usual_put_p99_us / 1_000
    yield Measured("", value_ms, {"time": milliseconds(value_ms)})


def _unread(facts: Facts, _memory: Memory) -> Iterator[Measured]:
    for address, unsent in (facts.unsent or {}).items():
        client = f"{facts.client_names.get(address, '')} {address}".lstrip()
        yield Measured(address, unsent / 1_000_000, {"client": client, "size": megabytes(unsent)})


def _disk(facts: Facts, _memory: Memory) -> Iterator[Measured]:
    yield Measured("", 100 * facts.disk_used, {"share": percent(facts.disk_used)})


def _apart(facts: Facts, memory: Memory) -> Iterator[Measured]:
    if facts.is_apart:
        lasts_ms = memory.stays_ms("slave apart", True)
        yield Measured("", lasts_ms / 1_000, {"span": span(lasts_ms)})


def _slaves_missing(facts: Facts, memory: Memory) -> Iterator[Measured]:
    if facts.slaves < facts.slaves_needed:
        lasts_ms = memory.stays_ms("slaves missing", True)
        count, needed = amount(facts.slaves), amount(facts.slaves_needed)
        yield Measured("", lasts_ms / 1_000, {"span": span(lasts_ms), "count": count, "needed": needed})


_DAY_S = 86_400
#: The rules in the order in which they are reported.
RULES: tuple[Rule, ...] = (
    Rule("damaged", "stage", 1, 1, 1_000_000, "messages", _damaged, Level.BROKEN),
    Rule("put_failed", "log", 1, 1, 1_000_000, "messages", _failed, Level.BROKEN),
    Rule("numbers_missing", "numbers", 1, 1, 1_000_000, "messages", _missing),
    Rule("numbers_unknown", "numbers", 1, 1, 1_000_000, "messages", _unknown),
    Rule("slave_apart", "replication", 10, 0, _DAY_S, "seconds", _apart),
    Rule("slaves_missing", "replication", 10, 0, _DAY_S, "seconds", _slaves_missing),
    Rule("disk_full", "log", 90, 1, 100, "percent", _disk),
    Rule("queue_unowned", "groups", 30, 0, _DAY_S, "seconds", _unowned),
    Rule("queue_stuck", "groups", 60, 0, _DAY_S, "seconds", _stuck),
    Rule("group_offline", "groups", 30, 0, _DAY_S, "seconds", _offline),
    Rule("group_behind", "groups", 1_000, 1, 1_000_000_000, "messages", _behind),
    Rule("half_undecided", "transactions", 30, 0, 7 * _DAY_S, "seconds", _undecided),
    Rule("half_given_up", "transactions", 1, 1, 1_000_000, "messages", _given_up),
    Rule("dead_letters", "dead-letters", 1, 1, 1_000_000, "messages", _dead),
    Rule("finished_late", "internals", 1, 1, 1_000_000, "messages", _idempotence("late_finishes")),
    Rule("duplicate_differs", "internals", 1, 1, 1_000_000, "messages", _idempotence("different_bodies")),
    Rule("records_unreachable", "internals", 1, 1, 1_000_000, "messages", _idempotence("store_errors")),
    Rule("store_slow", "plots", 100, 1, 60_000, "milliseconds", _slow),
    Rule("client_unread", "stage", 8, 1, 10_000, "megabytes", _unread),
)
