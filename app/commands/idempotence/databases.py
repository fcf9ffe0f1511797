"""``glassmq idempotence databases``: two sessions at real databases, and what each sees."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.tool import print_table

if TYPE_CHECKING:
    from app.databases.demonstration import Finding


@click.command("databases")
@click.option(
    "--postgresql",
    metavar="URL",
    help="URL of an existing PostgreSQL, instead of one that is started for the command.",
)
@click.option(
    "--mariadb", metavar="URL", help="URL of an existing MariaDB, instead of one that is started for the command."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option(
    "--write", type=click.Path(dir_okay=False, path_type=Path), help="Write the tables to this file, as Markdown."
)
def databases(postgresql: str | None, mariadb: str | None, as_json: bool, write: Path | None) -> None:
    """Show with two sessions what SELECT ... FOR UPDATE locks, and what a primary key does.

    Starts a PostgreSQL and a MariaDB where they are installed, with empty data that is removed at the end. In an
    existing database it creates the table glassmq_demonstration, and drops it at the end.

    \b
    Examples:
      glassmq idempotence databases
      glassmq idempotence databases --postgresql postgresql://me:secret@127.0.0.1/test --json
    """
    from app.databases.demonstration import DemonstrationFailed, demonstrate

    findings: list[Finding] = []
    for name, url in (("PostgreSQL", postgresql), ("MariaDB", mariadb)):
        try:
            findings += demonstrate(name, url)
        except DemonstrationFailed as reason:
            if url is not None:
                raise click.ClickException(f"{name}: {reason}") from None
            click.echo(f"{name} is left out: {reason}", err=True)
    if not findings:
        raise click.ClickException("no database to show it with")
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    if write is not None:
        from app.databases.demonstration import as_markdown

        write.write_text(as_markdown(findings), "utf-8")


def _print(findings: list[Finding]) -> None:
    for case in dict.fromkeys(finding.case for finding in findings):
        shown = [finding for finding in findings if finding.case == case]
        click.echo(f"\n{case}")
        head = ("DATABASE", "ISOLATION", *(f"{number + 1}. {name}" for number, (name, _) in enumerate(shown[0].seen)))
        print_table(head, [(each.database, each.isolation, *(seen for _, seen in each.seen)) for each in shown])
