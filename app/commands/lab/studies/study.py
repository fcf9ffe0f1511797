"""The shape of a study: runs, and the tables, the JSON and the picture made from them.

    @study("acknowledgement")
    def acknowledgement() -> Findings:
        \"\"\"Print what each acknowledgement guarantees.\"\"\"
        return Findings([Table(("acknowledged", "a send takes"), rows)])

The function is the command ``glassmq lab study NAME``: its docstring is the help, its click options are its arguments,
and ``--write``, ``--json`` and ``--svg`` are added here. It imports the engine when it is called.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
#: The file name that stands for standard output.
_PRINTED = Path("-")
_OUTPUT = click.Path(dir_okay=False, path_type=Path)


class Table(NamedTuple):
    """Rows of cells under headings. ``title``: the line above it in a document."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown; integers have separators of thousands."""
        cells = [[f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in self.rows]
        head, *lines = (f"| {' | '.join(row)} |\n" for row in [self.columns, *cells])
        title = f"{self.title}\n\n" if self.title else ""
        return "".join((title, head, "|---" * len(self.columns), "|\n", *lines))


class Findings(NamedTuple):
    """What a study has found.

    :ivar report: the content of the JSON; None: the cells of the tables.
    :ivar draw: makes the picture as SVG.
    :ivar note: the line below the tables in a terminal.
    """

    tables: Sequence[Table]
    report: object = None
    draw: Callable[[], str] | None = None
    note: str = ""

    def markdown(self) -> str:
        """Return the tables as Markdown, with an empty line between two."""
        return "\n".join(table.markdown() for table in self.tables)

    def json(self, indent: int | None = 2) -> str:
        """Return the findings as JSON."""
        cells = [dict(zip(table.columns, row, strict=True)) for table in self.tables for row in table.rows]
        return json.dumps(cells if self.report is None else self.report, ensure_ascii=False, indent=indent) + "\n"


@dataclass(frozen=True, slots=True)
class Study:
    """A function that runs something and returns what it has found, as a command.

    :ivar is_drawn: whether it has a picture.
    :ivar is_in_columns: whether a terminal shows the tables in columns instead of Markdown.
    """

    name: str
    run: Callable[..., Findings]
    is_drawn: bool = False
    is_in_columns: bool = False

    def command(self) -> click.Command:
        """Return the command: the function's own options, and those of all studies."""

        @click.pass_context
        def call(
            ctx: click.Context,
            /,
            path: Path | None,
            json_path: Path | None,
            svg_path: Path | None = None,
            **options: Any,
        ) -> None:
            self._call(ctx.command_path, path, json_path, svg_path, options)

        call.__doc__ = self.run.__doc__
        call.__click_params__ = getattr(self.run, "__click_params__", [])  # type: ignore[attr-defined]
        command = click.command(self.name)(call)
        command.params += [_WRITE, _JSON, *([_SVG] if self.is_drawn else [])]
        return command

    def _call(
        self,
        called: str,
        path: Path | None,
        json_path: Path | None,
        svg_path: Path | None,
        options: Mapping[str, Any],
    ) -> None:
        from app.commands.document_table import read_with_place, write_table

        names = f"glassmq lab study {self.name}", f"glassmq lab {self.name}"
        if path is not None:
            read_with_place(path, called, *names)
        for file in (json_path, svg_path):
            if file is not None and not file.parent.is_dir():
                raise click.UsageError(f"{file} cannot be written: there is no folder {file.parent}")
        found = self._findings(options)
        if json_path == _PRINTED:
            click.echo(found.json(indent=None), nl=False)
        elif self.is_in_columns:
            _print_columns(found)
        elif path is None:
            click.echo(found.markdown(), nl=False)
        if path is not None:
            write_table(path, called, found.markdown(), *names)
        if json_path is not None and json_path != _PRINTED:
            json_path.write_text(found.json(), encoding="utf-8")
        if svg_path is not None and found.draw is not None:
            svg_path.write_text(found.draw(), encoding="utf-8")

    def _findings(self, options: Mapping[str, Any]) -> Findings:
        from engine.lab.run.spread import be_quiet
        from engine.lab.scenario.errors import LabError

        be_quiet()
        try:
            return self.run(**options)
        except LabError as error:
            raise click.ClickException(str(error)) from None


def study(name: str, **features: bool) -> Callable[[Callable[..., Findings]], click.Command]:
    """Make the command of a :class:`Study` from its function."""
    return lambda run: Study(name, run, **features).command()


_WRITE = click.Option(
    ["--write", "path"],
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Write the tables into this document, between a comment with the name of this command and a comment "end".',
)
_JSON = click.Option(["--json", "json_path"], type=_OUTPUT, help="Also write the figures to this file; -: print them.")
_SVG = click.Option(["--svg", "svg_path"], type=_OUTPUT, help="Also draw the figures to this file.")
#: What ``--json`` of ``glassmq lab duplicates`` was before ``--json -`` of a study.
PRINT_JSON = click.Option(
    ["--json", "json_path"], is_flag=True, flag_value="-", type=_OUTPUT, help="Print the figures as JSON."
)


def _print_columns(found: Findings) -> None:
    from app.commands.tool import print_table

    for table in found.tables:
        print_table(tuple(table.columns), [tuple(row) for row in table.rows])
    if found.note:
        click.echo(found.note)


def run_each(label: str, items: Iterable[_Item], run: Callable[[_Item], _Result]) -> list[_Result]:
    """Return the result of each of ``items``, with a progress bar on standard error."""
    with click.progressbar(items, label=label, show_pos=True, file=sys.stderr) as bar:
        return [run(item) for item in bar]
