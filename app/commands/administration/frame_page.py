"""``glassmq faults page``: turns files of recorded frames into pages that need no server."""

from __future__ import annotations

from pathlib import Path

import click

from app.foundation.whole_file import write_whole


@click.command("page")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--replace", is_flag=True, help="Remove each file whose page is written.")
def command(files: tuple[Path, ...], replace: bool) -> None:
    """Write recorded frames as pages: orders.json becomes orders.html, which opens without a server.

    FILES come from the live page, from GET /api/faults/frames, or from a failed test.

    \b
    Examples:
      glassmq faults page frames.json
    """
    from app.lab.foundation.refusal import LabRefused
    from app.run_files import frames_file

    failed = 0
    for file in files:
        page = file.with_suffix(".html")
        try:
            write_whole(page, frames_file(file.read_bytes(), file.stem).encode())
        except (LabRefused, OSError) as error:
            failed += 1
            click.echo(f"{file}: {error}", err=True)
            continue
        if replace:
            file.unlink()
        click.echo(page)
    if failed:
        raise click.exceptions.Exit(1)
