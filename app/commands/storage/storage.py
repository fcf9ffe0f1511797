"""``glassmq storage``: measures this machine's disk and how both storage layouts grow on it, and shows Kafka's
files.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.foundation.option_types import Read, output_file, usage_errors
from engine.fields.field import Field
from engine.texts import plain

if TYPE_CHECKING:
    from app.storage.progress import ProgressStep

_MEASURE, _GROW = "glassmq storage measure", "glassmq storage grow"
_MESSAGES_MAX = 10_000_000
_DOCUMENT = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, writable=True, path_type=Path)


def _counts(largest: int) -> Read:
    allowed = plain(f"numbers from 1 to {largest:,}, with commas between")
    counts = Field("counts", "list", item=Field("count", "integer", 1, largest, says=allowed))
    return Read("text", lambda text: counts.read([*map(str.strip, text.split(","))], "counts", of_text=True))


_TOPICS, _MESSAGES = _counts(10_000), _counts(_MESSAGES_MAX)


@click.group("storage")
def command() -> None:
    """Measure the cost of storage on this machine, and show Kafka's files.

    \b
    Examples:
      glassmq storage measure --size-mb 64
      glassmq storage grow --topics 1,100 --messages 10000 --topic-messages 10000
      glassmq storage dump ./Orders-0
    """


@command.command("measure")
@click.option(
    "--folder", type=_FOLDER, help="A folder on the disk to measure.  [default: the system's temporary folder]"
)
@click.option(
    "--size-mb", type=click.IntRange(1, 16_384), default=256, show_default=True, help="Size of the file, in MiB."
)
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True, help="Rounds of all measurements.")
@click.option("--json", "json_path", type=output_file, help="Write all figures to this file.")
@click.option("--svg", "svg_path", type=output_file, help="Draw the rates to this file.")
@click.option(
    "--write", "document", type=_DOCUMENT, help="Write the tables into this document, at the place marked for them."
)
def measure(
    folder: Path | None, size_mb: int, rounds: int, json_path: Path | None, svg_path: Path | None, document: Path | None
) -> None:
    """Measure reads, sends and appends on this machine's disk.

    Reads in sequential and random order, with the page cache empty and full; sends a file with read and send, with
    mmap, and with sendfile; appends with and without flushing. The file is removed at the end.

    \b
    Examples:
      glassmq storage measure
      glassmq storage measure --folder ./data --size-mb 1024 --svg rates.svg
    """
    from app.commands.document_table import read_with_place, write_table
    from app.storage.measure.measure import Measurement
    from app.storage.measure.report import picture, tables

    if document is not None:
        read_with_place(document, _MEASURE)
    try:
        result = Measurement(folder or Path(tempfile.gettempdir()), size_mb << 20, rounds, _report).run()
    except OSError as error:
        raise click.ClickException(f"cannot measure: {error}") from None
    if json_path is not None:
        json_path.write_text(json.dumps(asdict(result), indent=1) + "\n", encoding="utf-8")
    if svg_path is not None:
        svg_path.write_text(picture(result), encoding="utf-8")
    if document is not None:
        write_table(document, _MEASURE, tables(result))
    click.echo(tables(result), nl=False)


@command.command("grow")
@click.option(
    "--folder", type=_FOLDER, help="Folder in which the stores are created.  [default: the system's temporary folder]"
)
@click.option("--topics", type=_TOPICS, default="1,10,100,1000", show_default=True, help="Numbers of topics, in turn.")
@click.option(
    "--messages",
    type=_MESSAGES,
    default="1000,10000,100000,1000000",
    show_default=True,
    help="Numbers of messages, over ten topics.",
)
@click.option(
    "--topic-messages",
    type=click.IntRange(1, _MESSAGES_MAX),
    default=100_000,
    show_default=True,
    help="Number of messages while the topics grow.",
)
@click.option("--json", "json_path", type=output_file, help="Write all figures to this file.")
@click.option("--csv", "csv_path", type=output_file, help="Write a line for each point to this file.")
@click.option("--svg", "svg_path", type=output_file, help="Draw the figures to this file.")
@click.option("--pattern", "pattern_path", type=output_file, help="Draw the position of each write to this file.")
@click.option(
    "--write", "document", type=_DOCUMENT, help="Write the table into this document, at the place marked for it."
)
def grow(
    folder: Path | None,
    topics: tuple[int, ...],
    messages: tuple[int, ...],
    topic_messages: int,
    json_path: Path | None,
    csv_path: Path | None,
    svg_path: Path | None,
    pattern_path: Path | None,
    document: Path | None,
) -> None:
    """Write the same messages into RocketMQ's store and Kafka's, in growing numbers, over a growing number of topics.

    Then look records up, and open both stores again after a clean end and after a kill. Ten million messages take some
    ten minutes and three gigabytes.

    \b
    Examples:
      glassmq storage grow --topics 1,100 --messages 10000 --topic-messages 10000
      glassmq storage grow --messages 1000000,10000000 --svg growth.svg --csv growth.csv
    """
    from app.commands.document_table import read_with_place, write_table
    from app.storage.growth.growth import Size, grow
    from app.storage.growth.report import comma_separated, picture, table, write_pattern
    from engine.runtime.port import DiskFault

    sizes = [*(Size(count, topic_messages) for count in topics), *(Size(10, count) for count in messages)]
    if document is not None:
        read_with_place(document, _GROW)
    try:
        with usage_errors(ValueError):
            result = grow(folder or Path(tempfile.gettempdir()), list(dict.fromkeys(sizes)), _report)
    except (OSError, DiskFault) as error:
        raise click.ClickException(f"cannot go on: {error}") from None
    outputs = (
        (json_path, json.dumps(asdict(result), indent=1) + "\n"),
        (csv_path, comma_separated(result)),
        (svg_path, picture(result)),
        (pattern_path, write_pattern(result)),
    )
    for path, text in outputs:
        if path is not None:
            path.write_text(text, encoding="utf-8")
    if document is not None:
        write_table(document, _GROW, table(result))
    click.echo(table(result), nl=False)


@command.command("dump")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--quiet", is_flag=True, help="Show only what is wrong, and the counts.")
def dump(path: Path, quiet: bool) -> None:
    """Show the batches and index entries of a Kafka partition, a folder or one file, and their faults.

    Checksums are compared, offsets followed, and entries of indexes compared with the batches that they lead to.
    Nothing is changed. The exit code is 0 when everything is whole, 1 when something is wrong.

    \b
    Examples:
      glassmq storage dump ./Orders-0
      glassmq storage dump ./Orders-0/00000000000000000000.index --quiet
    """
    from app.foundation.terminal_text import clean
    from app.storage.dump import dump, files_of

    wrong = 0
    try:
        for file in files_of(path):
            click.echo(clean(file))
            count = 0
            for line in dump(file):
                count += 1
                wrong += line.fault is not None
                if line.fault is not None or not quiet:
                    click.echo(f"  {line.text}" + (f": WRONG: {line.fault}" if line.fault else ""))
            click.echo(f"  {count} looked at")
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{wrong} wrong." if wrong else "Nothing is wrong.")
    if wrong:
        raise click.exceptions.Exit(1)


def _report(step: ProgressStep) -> None:
    """Print the progress on one line of a terminal, which is overwritten."""
    if not sys.stderr.isatty():
        return
    click.echo(f"\r\x1b[K{step.number + 1} of {step.total}: {step.doing}", nl=False, err=True)
    if step.number + 1 == step.total:
        click.echo("\r\x1b[K", nl=False, err=True)
