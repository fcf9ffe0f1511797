"""``glassmq site``: writes lessons and lab as files that need no server."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("site")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder of the site: an empty one, or that of an earlier build.",
)
@click.option(
    "--pyodide",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the npm package pyodide.  [default: node_modules/pyodide next to GlassMQ's own source]",
)
def command(out: Path, pyodide: Path | None) -> None:
    """Write lessons, lab, articles, glossary and filter bench as a site that needs no server.

    The engine runs in the visitor's browser. Any host of static files serves the folder, also below a path of its own.
    Needs Node.js and Pyodide, as the developers' tests do: make site installs both first.

    \b
    Examples:
      glassmq site --out build/site
      python -m http.server --directory build/site
    """
    from app.site.build import build_site
    from app.site.python_files import default_pyodide
    from engine.lab.run.spread import silence_logging

    silence_logging()
    build_site(out, pyodide or default_pyodide(), lambda part: click.echo(f"{part} ...", err=True))
    click.echo(f"{out}: serve it with python -m http.server --directory {out}")
