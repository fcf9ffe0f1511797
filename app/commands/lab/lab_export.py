"""``glassmq lab export``: a run as one HTML file."""

from __future__ import annotations

import re
from pathlib import Path

import click

from app.commands.lab.chosen_run import chosen_run
from app.foundation.option_rules import Excludes, Together, option_rules
from app.foundation.option_types import by_field, text_field, usage_errors
from engine.fields.refusal import FieldRefused

_SITE = re.compile(r"https?://[^\s#?]+")


@click.command("export")
@click.argument("scenario_name", metavar="SCENARIO")
@click.option("--link", help="The run: the address of a page of the lab, or the part after its #.")
@click.option(
    "--at",
    "event",
    type=click.IntRange(0),
    help="Event up to which the scenario runs.  [default: its key moment, or where the link leads]",
)
@click.option("--live", is_flag=True, help="Write a page that holds the stage of a site, instead of a recording.")
@click.option(
    "--site",
    type=by_field(text_field("text", _SITE.fullmatch, "an address such as https://host.example/glassmq")),
    help="With --live: the address of a site that glassmq site has written.",
)
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Output file.  [default: SCENARIO.html]",
)
@option_rules(Excludes("--link", "--at", reason="both name the event"), Together("--live", "--site"))
@usage_errors()
def export(
    scenario_name: str, link: str | None, event: int | None, live: bool, site: str | None, lang: str, out: Path | None
) -> None:
    """Write a run as one HTML file that opens at its last event.

    The file is the one that "Share" on the page exports: a recording that replays offline. With --live it is a small
    page: the stage runs in a frame of the site, from that event on; while the site does not answer, the page shows the
    picture of the scenario.

    \b
    Examples:
      glassmq lab export three-locks
      glassmq lab export three-locks --at 200 -o start.html
      glassmq lab export three-locks --link 'http://127.0.0.1:8000/lab/three-locks#eNo...' --lang zh
      glassmq lab export three-locks --live --site https://host.example/glassmq
    """
    from app.run_files import live_file, recording_file
    from engine.lab.run.spread import silence_logging
    from engine.lab.scenario.scenario_files import scenario_names

    silence_logging()
    recording = chosen_run(scenario_name, link, event=event)
    name = recording.scenario.name
    if site is None:
        page = recording_file(recording, lang)
    elif name in scenario_names():
        page = live_file(recording, site.rstrip("/"), lang)
    else:
        raise FieldRefused("--live", f"a site has no scenario {name}", "those of glassmq lab list")
    out = out or Path(f"{name}.html")
    out.write_text(page, encoding="utf-8")
    click.echo(f"{out}: event {recording.event}, {out.stat().st_size:,} bytes")
