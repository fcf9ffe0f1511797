"""``glassmq lab pictures``: takes the pictures of the lists of scenarios and lessons from runs."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from app.foundation.option_types import usage_errors
from engine.fields.refusal import FieldRefused


@click.command("pictures")
@click.argument("names", nargs=-1, metavar="[SCENARIO|LESSON]...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the pictures.  [default: the one that the lists use: static/lab/pictures]",
)
@click.option(
    "--address", help="A running glassmq serve to take them from.  [default: one that is started for the command]"
)
@usage_errors()
def pictures(names: tuple[str, ...], out: Path | None, address: str | None) -> None:
    """Take the picture of each scenario's stage at its key moment, for the list of scenarios; and of the stage in the
    middle of each track's first lesson, for the list of lessons.

    Two small WebP files each, for the light and the dark theme. Needs Chromium and Playwright, as the developers' tests
    do. The moment is the field key_moment of a scenario.

    \b
    Examples:
      glassmq lab pictures
      glassmq lab pictures 01-first-message
      glassmq lab pictures three-locks hello --out /tmp/pictures
    """
    from app.foundation.page_folders import PageFolders
    from app.lessons.course import load_course
    from app.lessons.lesson_files import load_lesson
    from app.lessons.rehearsal import pictured_link
    from app.pictures.chromium import open_browser
    from app.pictures.page_server import own_page_server
    from app.pictures.scenario_pictures import HEIGHT, LESSONS_SHELF, MAX_BYTES, THEMES, WIDTH, picture_path
    from app.pictures.stage_camera import StageCamera
    from app.pictures.webp import WebpEncoder
    from engine.lab.run.key_moment import key_moment_of
    from engine.lab.run.spread import silence_logging
    from engine.lab.scenario.scenario_files import load_scenario, shelved_scenario_names

    silence_logging()
    shelf_of = {name: shelf for shelf, shelved in shelved_scenario_names().items() for name in shelved}
    shelf_of |= dict.fromkeys(load_course().first_lessons(), LESSONS_SHELF)
    if unknown := [name for name in names if name not in shelf_of]:
        allowed = f"scenarios of glassmq lab list, and the lessons {', '.join(load_course().first_lessons())}"
        raise FieldRefused("SCENARIO|LESSON", f"there is no scenario {unknown[0]}", allowed)
    wanted = [name for name in shelf_of if not names or name in names]
    # Before the browser exists: while Playwright works, no world may run in this thread.
    links = {
        name: pictured_link(load_lesson(name))
        if shelf_of[name] == LESSONS_SHELF
        else key_moment_of(load_scenario(name)).link()
        for name in wanted
    }
    with contextlib.ExitStack() as stack:
        browser = stack.enter_context(open_browser())
        served = address or stack.enter_context(own_page_server()).address
        encoder = WebpEncoder(browser)
        bar = stack.enter_context(click.progressbar(wanted, label="pictures", show_pos=True, file=sys.stderr))
        camera = stack.enter_context(StageCamera(browser, served, 2 * WIDTH, 2 * HEIGHT))
        for name in bar:
            for theme, picture in camera.pictures(name, links[name], THEMES).items():
                path = picture_path(shelf_of[name], name, theme)
                file = PageFolders.find().static / path if out is None else out / Path(path).relative_to("lab/pictures")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(encoder.encode(picture, MAX_BYTES, (0.5,)))
