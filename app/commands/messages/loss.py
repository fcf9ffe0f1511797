"""``glassmq loss``: what consumers that looked at the numbers of their messages found, all together.

``glassmq consume --detect-loss`` uses the same words for one of them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.tool import print_table
from app.foundation.terminal_text import clean

if TYPE_CHECKING:
    from app.remote.cluster_reader import ClusterReader
    from engine.idempotence.loss_detection.judge import ProducerVerdict, TopicVerdict
    from engine.idempotence.loss_detection.reader_report import ReaderReport

#: Of one producer: one per topic, and it may have been sent twice.
LEDGERS_MAX = 32
_FILE = click.Path(dir_okay=False, path_type=Path)
_HEAD = ("topic", "producer", "numbers", "met", "missing", "which", "open", "stored twice", "disorder", "again")


@click.command("loss")
@click.argument("reports", nargs=-1, required=True, type=_FILE)
def command(reports: tuple[Path, ...]) -> None:
    """Put the REPORTS of the members of a group together: which numbers nobody of them has met.

    Each is a file that `glassmq consume --loss-report FILE` wrote. Exit code 1: numbers are missing, stored twice or
    out of order. What producers are known to have been refused is not missing: a report holds the ledgers of those that
    had ended when it was written.

    \b
    Examples:
      glassmq send orders 'order {n}' --count 1000 --number
      glassmq consume orders --group audit --count 1000 --loss-report one.json
      glassmq loss one.json two.json
    """
    if tell([read_report(file) for file in reports]):
        raise SystemExit(1)


def read_report(file: Path) -> ReaderReport:
    """Raises ``ClickException`` for a file that is none."""
    from engine.idempotence.loss_detection.reader_report import ReaderReport, ReportUnreadable

    try:
        return ReaderReport.decode(file.read_bytes())
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from None
    except ReportUnreadable as error:
        raise click.ClickException(f"{file}: {error}") from None


async def add_ledgers(reader: ClusterReader, report: ReaderReport) -> None:
    """What the producers that ``report`` knows have told at their end."""
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


def tell(reports: list[ReaderReport]) -> bool:
    """Print what they found together; whether anything is wrong."""
    from engine.idempotence.loss_detection.judge import SETTLING_MS, judge

    verdicts = judge(reports, round(time.time() * 1_000) - SETTLING_MS)
    if not verdicts:
        click.echo("no message carried a number: producers number with number_messages, or glassmq send --number")
        return False
    print_table(_HEAD, [_row(verdict.topic, one) for verdict in verdicts for one in verdict.producers])
    for verdict in verdicts:
        _tell_unseen(verdict)
    if without := sum(report.without_numbers + report.no_room for report in reports):
        click.echo(
            f"{without:,} messages are not judged: they carry no number, or there is no room for their producers"
        )
    return any(verdict.findings for verdict in verdicts)


def _row(topic: str, one: ProducerVerdict) -> tuple[object, ...]:
    ranges = [str(first) if first == last else f"{first}-{last}" for first, last in one.lost_ranges]
    more = one.lost > sum(last - first + 1 for first, last in one.lost_ranges)
    return (
        topic,
        one.producer,
        f"{one.first}-{one.first + one.numbered - 1}",
        one.met,
        one.lost,
        " ".join(ranges) + " ..." * more,
        one.not_judged,
        one.duplicated,
        one.out_of_order,
        one.delivered_again,
    )


def _tell_unseen(verdict: TopicVerdict) -> None:
    if verdict.unseen and verdict.lost:
        click.echo(
            f"{verdict.unseen:,} messages of {clean(verdict.topic)} are in none of these reports, and may hold what is "
            f"missing: at least {verdict.certainly_lost:,} are lost. Other members of the group have their own reports"
        )
