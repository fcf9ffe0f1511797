"""``glassmq loss``: combines the loss reports of the members of a group.

``glassmq consume --detect-loss`` uses the same words for one member.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.tool import print_table
from app.foundation.terminal_text import clean
from engine.protocol.number_ranges import NumberRange, count_of

if TYPE_CHECKING:
    from app.remote.cluster_reader import ClusterReader
    from engine.idempotence.loss_detection.judge import ProducerVerdict, TopicVerdict
    from engine.idempotence.loss_detection.reader_report import ReaderReport

#: Ledgers of one producer: one per topic, each of which may have been sent twice.
LEDGERS_MAX = 32
_FILE = click.Path(dir_okay=False, path_type=Path)
_HEAD = (
    "topic",
    "producer",
    "ended",
    "numbers",
    "met",
    "missing",
    "which are missing",
    "unknown",
    "which are unknown",
    "refused",
    "open",
    "stored twice",
    "out of order",
    "again",
)


@click.command("loss")
@click.argument("reports", nargs=-1, required=True, type=_FILE)
def command(reports: tuple[Path, ...]) -> None:
    """Combine the REPORTS of the members of a group: which numbers none of them has seen.

    Each is a file that `glassmq consume --loss-report FILE` wrote, with the ledgers of the producers that had ended.

    \b
    missing      never seen, although the broker confirmed it, or the producer has not reported yet
    unknown      never seen, and the producer got no answer (oneway, a timeout, an open transaction)
    refused      never stored, and the producer knows it
    open         not seen yet: a higher number was stored less than 30 s ago
    again        delivered again, as at least once allows

    Exit code 1: numbers are missing, unknown, stored twice or out of order, or open although their producer has ended.

    \b
    Examples:
      glassmq send orders 'order {n}' --count 1000 --number
      glassmq consume orders --group audit --count 1000 --loss-report one.json
      glassmq loss one.json two.json
    """
    verdicts = print_report([read_report(file) for file in reports])
    if any(verdict.findings + open_of_ended(verdict) for verdict in verdicts):
        raise SystemExit(1)


def read_report(file: Path) -> ReaderReport:
    """Read a report. Raises ``ClickException`` when the file is not a report."""
    from engine.idempotence.loss_detection.reader_report import ReaderReport, ReportUnreadable

    try:
        return ReaderReport.decode(file.read_bytes())
    except ReportUnreadable as error:
        raise click.ClickException(f"{file}: {error}") from None


async def add_ledgers(reader: ClusterReader, report: ReaderReport) -> None:
    """Add what the producers in ``report`` reported at their end."""
    from engine.protocol.errors import MalformedBody
    from engine.protocol.message.numbering_ledger import NUMBERING_LEDGER_TOPIC, NumberingLedger

    if not await reader.has_topic(NUMBERING_LEDGER_TOPIC):
        return
    for topic, producer in [key for key, book in report.books.items() if book.ledger is None]:
        for message in await reader.messages_with_key(NUMBERING_LEDGER_TOPIC, producer, LEDGERS_MAX):
            try:
                ledger = NumberingLedger.decode(message.body)
            except MalformedBody:
                continue
            if (ledger.topic, ledger.producer_id) == (topic, producer):
                report.add_ledger(ledger, message.store_timestamp)


def print_report(reports: list[ReaderReport]) -> list[TopicVerdict]:
    """Print what the reports show together, and return it."""
    from engine.idempotence.loss_detection.judge import SETTLING_MS, judge

    verdicts = judge(reports, round(time.time() * 1_000) - SETTLING_MS)
    if not verdicts:
        click.echo("no message carried a number: number them with number_messages, or with glassmq send --number")
        return []
    print_table(_HEAD, [_row(verdict.topic, one) for verdict in verdicts for one in verdict.producers])
    for verdict in verdicts:
        _report_topic(verdict)
    if without := sum(report.without_numbers + report.no_room for report in reports):
        click.echo(
            f"{without:,} messages are not judged: they carry no number, or there is no room for their producers"
        )
    return verdicts


def open_of_ended(verdict: TopicVerdict) -> int:
    """Return how many numbers are open although their producer has ended: it will not send them again."""
    return sum(one.not_judged for one in verdict.producers if one.has_ended)


def _row(topic: str, one: ProducerVerdict) -> tuple[object, ...]:
    return (
        topic,
        one.producer,
        "yes" if one.has_ended else "no",
        f"{one.first}-{one.first + one.numbered - 1}",
        one.met,
        one.lost,
        _ranges(one.lost_ranges, one.lost),
        one.unknown,
        _ranges(one.unknown_ranges, one.unknown),
        one.refused,
        one.not_judged,
        one.duplicated,
        one.out_of_order,
        one.delivered_again,
    )


def _ranges(ranges: tuple[NumberRange, ...], count: int) -> str:
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return " ".join(texts) + " ..." * (count > count_of(ranges))


def _report_topic(verdict: TopicVerdict) -> None:
    topic = clean(verdict.topic)
    if unknown := sum(one.unknown for one in verdict.producers):
        click.echo(
            f"{topic}: {unknown:,} unknown: in no report, and their producers had no answer (sent oneway, or not "
            "answered): lost, or never stored"
        )
    if still_open := sum(one.not_judged for one in verdict.producers):
        click.echo(
            f"{topic}: {still_open:,} open: a higher number, or the producer's ledger, was stored less than 30 s ago. "
            "Judge again later: glassmq loss FILE with what --loss-report FILE kept"
        )
    if forgotten := sum(one.forgotten for one in verdict.producers):
        click.echo(f"{topic}: {forgotten:,} numbers and places forgotten, and not judged: there were too many")
    if verdict.unseen and (verdict.missing or still_open):
        click.echo(
            f"{verdict.unseen:,} messages of {topic} are in none of these reports, and may hold what is missing: at "
            f"least {verdict.certainly_lost:,} are lost, or were never stored. Other members of the group have their "
            "own reports"
        )
