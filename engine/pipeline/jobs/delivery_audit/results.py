"""Results of the audit as tables, plots and notes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime

from engine.pipeline.jobs.delivery_audit.consumption_book import GROUPS_MAX, ConsumptionBook
from engine.pipeline.jobs.delivery_audit.delivery_book import PRODUCERS_MAX, DeliveryBook
from engine.pipeline.jobs.delivery_audit.description import VERDICT_COUNTS
from engine.pipeline.jobs.delivery_audit.finding_kinds import KINDS, Certainty
from engine.pipeline.jobs.delivery_audit.latencies import Latencies
from engine.pipeline.jobs.delivery_audit.locating import NumberPlaces, Places
from engine.pipeline.jobs.delivery_audit.producer_book import OTHERS, ProducerBook, StoredNumbersVerdict
from engine.pipeline.jobs.delivery_audit.queue_owners import QueueOwners
from engine.pipeline.jobs.delivery_audit.summaries import UNNUMBERED, LatencySpans
from engine.pipeline.jobs.description import Texts
from engine.pipeline.jobs.report import ROWS_MAX, AnyCell, Cell, JobReport, fair_share
from engine.protocol.message.message_id import client_name
from engine.texts import Text, joined, plain

#: Kinds of missing numbers: the places of their neighbours are reported.
_GAPS = ("lost", "unknown")
#: Failed deliveries are repeated: they are a finding only if there is nothing else.
_ORDER = {kind: place for place, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """A problem that the audit found.

    :ivar who: a producer or a consumer group.
    :ivar queue: ``"broker:queue id"``; empty if no queue can be named.
    :ivar first: a number of the producer, or an offset of the queue for a group; None for messages known only by id.
    :ivar where: the places, in both languages; None if they are unknown.
    """

    kind: str
    topic: str
    who: str
    queue: str
    first: int | None
    last: int | None
    count: int
    certainty: Certainty
    where: Texts | None = None

    def row(self) -> list[AnyCell]:
        """Return the row for the table."""
        return [getattr(self, one.name) for one in fields(self)]

    def badness(self) -> tuple[int, int, str, str, int]:
        """Return a key that sorts the worst first."""
        return (_ORDER[self.kind], -self.count, self.topic, self.who, self.first or 0)


#: Some findings of each kind, the worst, and kind -> (how many findings there are, how many messages they concern).
AuditFindings = tuple[list[AuditFinding], dict[str, tuple[int, int]]]


def findings_of(book: DeliveryBook, consumption: ConsumptionBook | None, rows_max: int = ROWS_MAX) -> AuditFindings:
    """Return the problems of producers, brokers and groups that the books show, at most ``rows_max``."""
    counts: dict[str, tuple[int, int]] = dict.fromkeys(KINDS, (0, 0))
    worst: dict[str, list[AuditFinding]] = {kind: [] for kind in KINDS}
    for finding in _findings(book, consumption):
        findings, messages = counts[finding.kind]
        counts[finding.kind] = findings + 1, messages + finding.count
        of_kind = worst[finding.kind]
        of_kind.append(finding)
        if len(of_kind) == 2 * rows_max:
            worst[finding.kind] = heapq.nsmallest(rows_max, of_kind, key=AuditFinding.badness)
    found = [heapq.nsmallest(rows_max, of_kind, key=AuditFinding.badness) for of_kind in worst.values()]
    return fair_share(found, rows_max), {kind: count for kind, count in counts.items() if count[0]}


def _findings(book: DeliveryBook, consumption: ConsumptionBook | None) -> Iterator[AuditFinding]:
    for producer in book.producers.values():
        yield from _of_producer(producer)
    if consumption is None:
        return
    for one in consumption.samples:
        where = Text("job.where.message_id", unique_id=one.unique_id)
        yield AuditFinding(
            "acknowledged, not stored", one.topic, one.producer_group, "", None, None, 1, Certainty.LIKELY, where
        )
    for group, topic in consumption.expected():
        yield from _of_group(consumption, group, topic)


def _of_group(consumption: ConsumptionBook, group: str, topic: str) -> Iterator[AuditFinding]:
    offsets_are_known = (group, topic) in consumption.offsets
    last_reports = consumption.last_reports(group)
    certainty = Certainty.LIKELY if offsets_are_known else Certainty.POSSIBLE
    for queue, (first, last) in consumption.missing(group, topic):
        where = Text("job.where.from_offset", first=first)
        yield AuditFinding("not consumed", topic, group, queue, first, last, last - first + 1, certainty, where)
    certainty = Certainty.CERTAIN if offsets_are_known else Certainty.LIKELY
    for queue, (first, last) in consumption.unreported(group, topic):
        where = why_unreported(first, consumption.owners(group, topic, queue), last_reports)
        yield AuditFinding("not reported", topic, group, queue, first, last, last - first + 1, certainty, where)
    for queue, of_queue in consumption.queues.get((group, topic), {}).items():
        for kind, offsets in (("consumed twice", of_queue.twice), ("failed", of_queue.failed)):
            for first, last in offsets.ranges():
                where = Text("job.where.from_offset", first=first)
                count = last - first + 1
                yield AuditFinding(kind, topic, group, queue, first, last, count, Certainty.CERTAIN, where)


def why_unreported(first: int, owners: QueueOwners, last_reports: Mapping[str, int]) -> Text:
    """Return what the reports of other messages show about those from ``first`` on, which nobody reported.

    :param last_reports: client -> the time of its last report about any queue.
    """
    owner, successor = owners.around(first)
    if owner is None:
        return Text("job.where.from_offset", first=first)
    client = client_name(owner.client)
    if successor is None:
        if owner.last_offset > first:
            return Text("job.where.reports_lost", first=first, client=client)
        return Text("job.where.last_report", first=first, client=client, at=_instant(owner.last_ms))
    ended_ms = last_reports.get(owner.client, owner.last_ms)
    if ended_ms > successor.first_ms:
        ended = Text("job.where.owner_lost_queue", client=client)
    else:
        ended = Text("job.where.owner_ended", client=client, at=_instant(ended_ms))
    then = {"successor": client_name(successor.client), "offset": successor.first_offset}
    return Text("job.where.next_owner", first=first, ended=ended, **then)


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).isoformat(" ", "milliseconds").replace("+00:00", " UTC")


def _of_producer(book: ProducerBook) -> Iterator[AuditFinding]:
    about = (book.topic, book.producer)
    if book.is_sparse:
        yield AuditFinding("too sparse", *about, "", book.first, book.last, book.stored, Certainty.CERTAIN)
    # Without its ledger it is not known whether the producer was refused.
    lost = Certainty.LIKELY if book.ledger is None else Certainty.CERTAIN
    gaps = (("lost", lost, book.missing.lost()), ("unknown", Certainty.POSSIBLE, book.missing.unknown()))
    for kind, certainty, ranges in gaps:
        for first, last in ranges:
            yield AuditFinding(kind, *about, "", first, last, last - first + 1, certainty)
    for kind, queues in (("duplicated", book.repeated.items()), ("out of order", book.out_of_order())):
        for queue, numbers in queues:
            for first, last in numbers.ranges():
                yield AuditFinding(kind, *about, queue, first, last, last - first + 1, Certainty.CERTAIN)


def located(findings: Iterable[AuditFinding], places: Places) -> Iterator[AuditFinding]:
    """Yield the findings, with the stored positions of their numbers added.

    A missing number has no position: the positions of its neighbours are given instead.
    """
    for finding in findings:
        first, last = finding.first, finding.last
        if finding.kind not in (*_GAPS, "duplicated", "out of order") or first is None or last is None:
            yield finding
            continue
        of_producer = places.get((finding.who, finding.topic), {})
        if finding.kind in _GAPS:
            neighbours = (of_producer.get(number, NumberPlaces()).first for number in (first - 1, last + 1))
            where = _between(*neighbours)
        else:
            # What is out of order is stored once.
            of_first = of_producer.get(first, NumberPlaces())
            where = _listed(of_first, are_all=of_first.are_all or finding.kind == "out of order")
        yield replace(finding, where=where)


def _between(before: Sequence[Text], after: Sequence[Text]) -> Texts | None:
    reported = [Text("job.where.after", place=place) for place in before[:1]]
    reported += [Text("job.where.before", place=place) for place in after[:1]]
    return joined("words.semicolon", reported) if reported else None


def _listed(places: NumberPlaces, *, are_all: bool) -> Texts:
    reported = list(places.first)
    if more := places.total - len(reported):
        reported.append(Text("job.where.more", count=more))
    if reported and not are_all:
        reported.append(Text("job.where.perhaps_more"))
    return joined("words.semicolon", reported) if reported else plain("")


def wanted_places(findings: Iterable[AuditFinding]) -> dict[tuple[str, str], list[int]]:
    """Return (producer, topic) -> the numbers to look up for :func:`located`."""
    wanted: dict[tuple[str, str], dict[int, None]] = {}
    for finding in findings:
        if finding.first is None or finding.last is None or finding.kind not in KINDS[:5]:
            continue
        numbers = (finding.first - 1, finding.last + 1) if finding.kind in _GAPS else (finding.first,)
        of_producer = wanted.setdefault((finding.who, finding.topic), {})
        of_producer.update(dict.fromkeys(number for number in numbers if number >= 0))
    return {key: sorted(numbers) for key, numbers in wanted.items()}


class AuditReporter:
    """Report the contents of the books."""

    def __init__(self, report: JobReport) -> None:
        self._report = report

    def report(self, book: DeliveryBook, consumption: ConsumptionBook | None, found: AuditFindings) -> None:
        """Report all tables."""
        verdicts = [producer.verdict() for producer in book.producers.values()]
        rows = sorted(
            (_producer_row(verdict) for verdict in verdicts), key=lambda row: (-int(row[-1] or 0), str(row[0]))
        )
        self._report.table("producers", rows)
        shown, counts = found
        self._report.table("finding_counts", [[kind, messages] for kind, (_, messages) in counts.items()])
        left_out = sum(findings for findings, _ in counts.values()) - len(shown)
        self._report.table("findings", [finding.row() for finding in shown], left_out=left_out)
        self._report.table("latency", list(_latency_rows(book, consumption)))
        if consumption is not None:
            groups = [_group_row(consumption, *key) for key in consumption.expected()]
            groups.sort(key=lambda row: (-int(row[-1] or 0), str(row[0])))
            self._report.table("groups", groups)
        self._report.offsets(_reached(book))
        messages = sum(verdict.stored for verdict in verdicts)
        self._report.progress(messages, None, "messages")

    def plot(self, latency: LatencySpans) -> None:
        """Plot latency and rate over time, topic by topic."""
        width_ms = latency.width_ms
        for topic, spans in sorted(latency.spans.items()):
            for number, span in sorted(spans.items()):
                at_ms = number * width_ms
                p50, p99 = span.percentiles((0.5, 0.99))
                self._report.point("latency", f"{topic} p50", at_ms, p50)
                self._report.point("latency", f"{topic} p99", at_ms, p99)
                self._report.point("rate", topic, at_ms, round(span.count * 1_000 / width_ms, 1))

    def conclude(self, book: DeliveryBook, consumption: ConsumptionBook | None) -> None:
        """Write notes about what was found and what could not be judged."""
        verdicts = [producer.verdict() for producer in book.producers.values()]
        self._conclude_producers([verdict for verdict in verdicts if verdict.is_numbered])
        if unnumbered := sum(verdict.stored for verdict in verdicts if verdict.producer == UNNUMBERED):
            self._report.note(Text("job.note.unnumbered", unnumbered=unnumbered))
        for verdict in verdicts:
            if verdict.producer == OTHERS:
                self._report.note(
                    Text("job.note.too_many_producers", topic=verdict.topic, limit=PRODUCERS_MAX, stored=verdict.stored)
                )
        if book.unreadable_ledgers:
            self._report.note(Text("job.note.unreadable_ledgers", count=book.unreadable_ledgers))
        if consumption is not None:
            self._conclude_consumption(consumption)

    def _conclude_consumption(self, consumption: ConsumptionBook) -> None:
        if consumption.not_stored:
            self._report.note(Text("job.note.not_stored", count=sum(consumption.not_stored.values())))
        if consumption.unreadable:
            self._report.note(Text("job.note.unreadable_traces", count=consumption.unreadable))
        if consumption.calls_of_others:
            self._report.note(Text("job.note.too_many_groups", limit=GROUPS_MAX, calls=consumption.calls_of_others))
        if consumption.groups.named is None:
            self._report.note(Text("job.note.no_group_judged"))
        if unreported := sum(consumption.unreported_count(*key) for key in consumption.expected()):
            self._report.note(Text("job.note.unreported", count=unreported))
        if silent := consumption.silent_groups():
            self._report.note(Text("job.note.silent_groups", names=", ".join(silent)))

    def _conclude_producers(self, verdicts: list[StoredNumbersVerdict]) -> None:
        if not verdicts:
            return
        sparse = [verdict for verdict in verdicts if verdict.is_sparse]
        if not sparse and not any(verdict.findings for verdict in verdicts):
            self._report.note(Text("job.note.nothing_lost"))
        if sparse:
            count = sum(verdict.stored for verdict in sparse)
            self._report.note(Text("job.note.too_sparse", producers=len(sparse), count=count))
        if not_judged := sum(verdict.not_judged for verdict in verdicts if not verdict.is_sparse):
            self._report.note(Text("job.note.not_judged", not_judged=not_judged))
        if unended := sum(not verdict.has_ended for verdict in verdicts):
            self._report.note(Text("job.note.unended", unended=unended, producers=len(verdicts)))


def _producer_row(verdict: StoredNumbersVerdict) -> list[Cell]:
    """Return the counts in the order of the table; for sparse numbers only the count of findings is given."""
    return [
        verdict.producer or "(not numbered)",
        verdict.topic,
        *(getattr(verdict, name) for name in VERDICT_COUNTS),
        verdict.has_ended,
        verdict.findings + verdict.is_sparse,
    ]


def _group_row(consumption: ConsumptionBook, group: str, topic: str) -> list[Cell]:
    queues = consumption.queues.get((group, topic), {})
    stored = sum(numbers.count for (of_topic, _), numbers in consumption.judged.items() if of_topic == topic)
    consumed, twice, failed = (
        sum(getattr(queue, name).count for queue in queues.values()) for name in ("consumed", "twice", "failed")
    )
    missing = consumption.missing_count(group, topic)
    unreported = consumption.unreported_count(group, topic)
    return [group, topic, stored, consumed, missing, unreported, twice, failed, missing + twice]


def _latency_rows(book: DeliveryBook, consumption: ConsumptionBook | None) -> Iterator[list[Cell]]:
    for topic, latencies in sorted(book.latency.items()):
        yield ["born > stored", topic, "", *_percentiles(latencies)]
    for (group, topic), latencies in sorted(consumption.latency.items() if consumption is not None else ()):
        yield ["stored > consumed", topic, group, *_percentiles(latencies)]


def _percentiles(latencies: Latencies) -> list[Cell]:
    return [latencies.count, *latencies.percentiles((0.5, 0.95, 0.99)), latencies.longest]


def _reached(book: DeliveryBook) -> dict[str, dict[str, int]]:
    reached: dict[str, dict[str, int]] = {}
    for (topic, queue), (_, after) in sorted(book.queues.items()):
        reached.setdefault(topic, {})[queue] = after
    return reached
