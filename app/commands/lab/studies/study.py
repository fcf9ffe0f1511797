"""The shape of a study: a command that runs something and returns its findings, which are printed and written here.

A study is a function under ``@click.command("NAME", cls=Study)`` that returns :class:`Findings`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from app.foundation.option_types import output_file

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class StudyTable(NamedTuple):
    """Rows, at least one: heading -> cell. ``title``: the line above the table in a document."""

    rows: Sequence[Mapping[str, object]]
    title: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown; integers have separators of thousands."""
        cells = ([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row.values()] for row in self.rows)
        head, *lines = (f"| {' | '.join(row)} |\n" for row in (self.rows[0], *cells))
        title = f"{self.title}\n\n" if self.title else ""
        return "".join((title, head, "|---" * len(self.rows[0]), "|\n", *lines))


class Findings(NamedTuple):
    """The result of a study.

    :ivar report: the content of the JSON; None: the rows of the tables.
    :ivar draw: makes the picture as SVG.
    :ivar note: the line below the tables in a terminal.
    """

    tables: Sequence[StudyTable]
    report: object = None
    draw: Callable[[], str] | None = None
    note: str = ""

    def markdown(self) -> str:
        """Return the tables as Markdown, with an empty line between two."""
        return "\n".join(table.markdown() for table in self.tables)

    def json(self, indent: int | None = 2) -> str:
        """Return the findings as JSON."""
        report = [row for table in self.tables for row in table.rows] if self.report is None else self.report
        return json.dumps(report, ensure_ascii=False, indent=indent) + "\n"


class Study(click.Command):
    """A function that returns :class:`Findings`, as a command that prints and writes them.

    :param is_drawn: whether there is a picture.
    :param is_in_columns: whether a terminal shows the tables in columns instead of Markdown.
    """

    def __init__(self, *arguments: Any, is_drawn: bool = False, is_in_columns: bool = False, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params += [_WRITE, _JSON, *([_SVG] if is_drawn else [])]
        self._is_in_columns = is_in_columns

    def invoke(self, ctx: click.Context) -> None:
        """Run the function, with what was asked for checked before and written after it."""
        from app.commands.document_table import read_with_place, write_table
        from app.commands.tool import print_table
        from engine.lab.run.spread import silence_logging

        document, json_path, svg_path = (ctx.params.pop(name, None) for name in ("write", "json", "svg"))
        called, *other_names = ctx.command_path, f"glassmq lab study {self.name}", f"glassmq lab {self.name}"
        if document:
            ctx.invoke(read_with_place, document, called, *other_names)  # adds the line of usage to a refusal
        silence_logging()
        found: Findings = super().invoke(ctx)
        if json_path == _PRINTED:
            click.echo(found.json(indent=None), nl=False)
        elif self._is_in_columns:
            for rows, _ in found.tables:
                print_table((*rows[0],), [(*row.values(),) for row in rows])
            click.echo(found.note and f"{found.note}\n", nl=False)
        elif not document:
            click.echo(found.markdown(), nl=False)
        if document:
            write_table(document, called, found.markdown(), *other_names)
        if json_path and json_path != _PRINTED:
            json_path.write_text(found.json(), encoding="utf-8")
        if svg_path and found.draw:
            svg_path.write_text(found.draw(), encoding="utf-8")


#: The file name that stands for standard output.
_PRINTED = Path("-")
_WRITE = click.Option(
    ["--write"],
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Write the tables into this document, between a comment with the name of this command and a comment "end".',
)
_JSON = click.Option(["--json"], type=output_file, help="Also write the figures to this file; -: print them.")
_SVG = click.Option(["--svg"], type=output_file, help="Also draw the figures to this file.")
#: What ``--json`` of ``glassmq lab duplicates`` was before ``--json -`` of a study.
PRINT_JSON = click.Option(["--json"], is_flag=True, flag_value="-", type=output_file, help="Print the figures as JSON.")


def run_each(label: str, items: Iterable[_Item], run: Callable[[_Item], _Result]) -> list[_Result]:
    """Return the result of each of ``items``, with a progress bar on standard error."""
    with click.progressbar(items, label=label, show_pos=True, file=sys.stderr) as bar:
        return [run(item) for item in bar]
