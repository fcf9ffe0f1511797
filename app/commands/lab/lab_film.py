"""``glassmq lab film``: a run of the lab as an animated GIF or a WebM."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Literal

import click

from app.commands.lab.chosen_run import chosen_run
from app.foundation.option_types import Read, not_allowed, usage_errors
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused

_SIZE = re.compile(r"(\d{3,4})x(\d{3,4})")
_SIZE_LOW, _SIZE_HIGH = 320, 1_920
_SECONDS_MAX = 86_400.0
_SPEED = Field("speed", "number", 0.0001, 1_000, allowed=("auto",))


def _pixels(size: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(size)
    pixels = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(_SIZE_LOW <= length <= _SIZE_HIGH for length in pixels):
        raise not_allowed(size, f"two numbers from {_SIZE_LOW} to {_SIZE_HIGH}, such as 960x600")
    return pixels


def _speed(text: str) -> object:
    """Return what any number means to Python, such as .5 and 1e2, or auto."""
    with contextlib.suppress(ValueError):
        return _SPEED.read(float(text), _SPEED.name)
    return _SPEED.read(text, _SPEED.name)


@click.command("film")
@click.argument("scenario_name", metavar="SCENARIO")
@click.option("--link", help="The run: the address of a page of the lab, or the part after its #.")
@click.option(
    "--from",
    "from_s",
    type=click.FloatRange(0, _SECONDS_MAX),
    help="Virtual second at which the film begins.  [default: one before --to, or earlier for a film of 5 s]",
)
@click.option(
    "--to",
    "to_s",
    type=click.FloatRange(0, _SECONDS_MAX),
    help="Virtual second at which the film ends.  [default: where the link leads, or the scenario's key moment]",
)
@click.option("--size", type=Read("text", _pixels), default="960x600", show_default=True, help="Width and height.")
@click.option(
    "--speed",
    type=Read("text", _speed),
    default="auto",
    show_default=True,
    help="Virtual seconds per second; auto: a pace that viewers can follow.",
)
@click.option(
    "--pictures", "per_second", type=click.IntRange(1, 20), default=10, show_default=True, help="Pictures per second."
)
@click.option("--theme", type=click.Choice(["light", "dark", "projector"]), default="light", show_default=True)
@click.option("--lang", type=click.Choice(["en", "zh"]), default="en", show_default=True)
@click.option("--address", help="A running glassmq serve to film.  [default: one that is started for the command]")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Output file, such as run.gif or run.webm.",
)
@usage_errors()
def film(
    scenario_name: str,
    link: str | None,
    from_s: float | None,
    to_s: float | None,
    size: tuple[int, int],
    speed: float | Literal["auto"],
    per_second: int,
    theme: str,
    lang: str,
    address: str | None,
    out: Path,
) -> None:
    """Film the stage of a run, with the captions of the page, as an animated GIF or a WebM.

    A film has 600 pictures at most; only the last part of a longer one is kept. Needs Chromium and Playwright, as the
    developers' tests do; the browser itself encodes the film.

    \b
    Examples:
      glassmq lab film three-locks -o duplicate.gif
      glassmq lab film hello --from 0 --to 1.1 --size 800x500 -o hello.webm
      glassmq lab film three-locks --link 'http://127.0.0.1:8000/lab/three-locks#eNo...' -o mine.gif
    """
    from app.lab.session.film_times import PICTURES_MAX, film_times
    from app.pictures.chromium import open_browser
    from app.pictures.film_camera import KINDS, take_film
    from app.pictures.page_server import own_page_server
    from engine.lab.run.spread import silence_logging

    kind = out.suffix.lstrip(".").lower()
    if kind not in KINDS:
        raise FieldRefused("--out", f"{out.name} is not a supported kind of film", f".{' .'.join(KINDS)}")
    silence_logging()
    recording = chosen_run(scenario_name, link, to_s=to_s)
    end_s = recording.time_us / 1_000_000
    if from_s is not None and from_s >= end_s:
        raise FieldRefused("--from", f"{from_s:g} is not before the end of the film", f"seconds before {end_s:g}")
    from_us = None if from_s is None else round(from_s * 1_000_000)
    times = film_times(recording, from_us, per_second, speed)
    if len(times) == PICTURES_MAX:
        click.echo(f"the film begins at {times[0] / 1_000_000:.3f} s: it may have {PICTURES_MAX} pictures", err=True)
    with contextlib.ExitStack() as stack:
        browser = stack.enter_context(open_browser())
        served = address or stack.enter_context(own_page_server()).address
        bar = stack.enter_context(
            click.progressbar(length=len(times), label="pictures", show_pos=True, file=sys.stderr)
        )
        data = take_film(
            browser,
            served,
            recording.scenario.name,
            recording.link(),
            times,
            per_second,
            kind,
            size=size,
            theme=theme,
            language=lang,
            report=lambda _: bar.update(1),
        )
    out.write_bytes(data)
    click.echo(f"{out}: {len(times)} pictures, {len(data):,} bytes")
