"""``glassmq faults scenario``: turns recorded frames into a scenario of the lab."""

from __future__ import annotations

import re
from pathlib import Path

import click

from app.foundation.whole_file import write_whole
from engine.fields.field import Field, read_fields
from engine.fields.json_input import parse_json
from engine.texts import LANGUAGES

_PAGE_DATA = re.compile(rb'<script type="application/json" id="lab-data"[^>]*>(.*?)</script>', re.DOTALL)
_PAGE = (Field("recording", "object", default={}),)
_FILM = (Field("scenario", "object", default=None),)
_OFFER = (
    Field("text", "text", 1),
    Field("left_out", "list", fields=tuple(Field(language, "text") for language in LANGUAGES)),
)


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
    from engine.lab.scenario.errors import LabError

    try:
        text, left_out = _scenario(file)
        write_whole(out, text.encode())
    except (LabRefused, LabError, OSError, ValueError) as error:
        raise click.ClickException(f"{file}: {error}") from error
    click.echo(out)
    click.echo("not carried over:", err=True)
    for line in left_out:
        click.echo(f"  {line}", err=True)


def _scenario(file: Path) -> tuple[str, list[str]]:
    """Return its text, and what is left out. Raises ``ValueError``, :class:`LabRefused` and :class:`LabError`."""
    from app.lab.recorded.recorded_scenario import recorded_scenario
    from app.lab.views.recorded_frames import parse_frames

    content = file.read_bytes()
    if not content.lstrip().startswith(b"<"):
        made = recorded_scenario(parse_frames(content), file.stem)
        return made.scenario.text, [str(text) for text in made.left_out]
    found = _PAGE_DATA.search(content)
    page = read_fields(_PAGE, {} if found is None else parse_json(found[1]), "page", is_open=True)
    film = read_fields(_FILM, page["recording"], "page.recording", is_open=True)
    if film["scenario"] is None:
        raise ValueError("the page has no scenario; allowed: pages of glassmq faults page and of failed tests")
    offered = read_fields(_OFFER, film["scenario"], "page.recording.scenario", is_open=True)
    return offered["text"], [text["en"] for text in offered["left_out"]]
