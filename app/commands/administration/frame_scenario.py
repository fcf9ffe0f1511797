"""``glassmq faults scenario``: turns recorded frames into a scenario of the lab."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

_PAGE_DATA = re.compile(r'<script type="application/json" id="lab-data"[^>]*>(.*?)</script>', re.DOTALL)


@click.command("scenario")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default="recorded.yaml",
    show_default=True,
    help="The file that is written.",
)
def command(file: Path, out: Path) -> None:
    """Write a scenario of the lab with the messages, groups, transactions and faults of a recording.

    FILE is the page of a failed test, or a file of frames. What could not be carried over is listed.

    \b
    Examples:
      glassmq faults scenario test-results/glassmq/tests-test_shop-py-test_order.html
      glassmq lab run recorded.yaml
    """
    from app.lab.foundation.refusal import LabRefused
    from engine.lab.scenario.errors import ScenarioError

    try:
        text, left_out = _scenario(file)
        out.write_text(text, encoding="utf-8")
    except (LabRefused, ScenarioError, OSError, ValueError) as error:
        raise click.ClickException(f"{file}: {error}") from error
    click.echo(out)
    click.echo("not carried over:", err=True)
    for line in left_out:
        click.echo(f"  {line}", err=True)


def _scenario(file: Path) -> tuple[str, list[str]]:
    """Return its text, and what is left out. Raises ``ValueError``, :class:`LabRefused` and :class:`ScenarioError`."""
    from app.lab.recorded.recorded_scenario import recorded_scenario

    content = file.read_text(encoding="utf-8")
    if not content.lstrip().startswith("<"):
        data: Any = json.loads(content)
        title = data.get("title") if isinstance(data, dict) else None
        made = recorded_scenario(data, title if isinstance(title, str) and title else file.stem)
        return made.scenario.text, [str(text) for text in made.left_out]
    found = _PAGE_DATA.search(content)
    offered = json.loads(found[1]).get("recording", {}).get("scenario") if found is not None else None
    if offered is None:
        raise ValueError("the page has no scenario; allowed: pages of glassmq faults page and of failed tests")
    return offered["text"], [text["en"] for text in offered["left_out"]]
