"""``glassmq lab pictures`` and ``glassmq lab film``: what they refuse, and in which words."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.commands.lab.lab_film import film
from app.pictures.chromium import CHROMIUM_VARIABLE


def said(*arguments: str, code: int = 1) -> str:
    """What a call that fails says."""
    result = CliRunner().invoke(main, ["lab", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_without_a_browser_they_say_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv(CHROMIUM_VARIABLE, str(tmp_path / "no-such-program"))
    for arguments in (["pictures", "hello"], ["film", "hello", "-o", str(tmp_path / "run.gif")]):
        assert "sudo apt-get install chromium" in said(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_pictures_of_a_scenario_that_is_not_there_are_refused():
    refusal = said("pictures", "hello", "nothing", code=2)
    assert "there is no scenario nothing; allowed: scenarios of glassmq lab list, and the lessons 01-first-m" in refusal


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["-o", "run.mp4"], "--out: run.mp4 is not a supported kind of film; allowed: .gif .webm"),
        (
            ["-o", "run.gif", "--from", "9", "--to", "2"],
            "--from: 9 is not before the end of the film; allowed: seconds before 2",
        ),
        (["-o", "run.gif", "--link", "#broken"], "Invalid value for --link: "),
    ],
)
def test_a_film_that_cannot_be_made_is_refused_before_a_browser_starts(monkeypatch, arguments, problem):
    monkeypatch.setenv(CHROMIUM_VARIABLE, "/no-such-program")
    assert problem in said("film", "three-locks", *arguments, code=2)


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("--size", "huge", "'huge' is not allowed; allowed: two numbers from 320 to 1920"),
        ("--size", "9999x600", "'9999x600' is not allowed; allowed: two numbers from 320 to 1920"),
        *(("--speed", speed, f"{speed!r} is not allowed; allowed: ") for speed in ("0", "1e4", "nan", "inf", "-1", "")),
        ("--speed", "warp", "'warp' is not allowed; allowed: a number from 0.0001 to 1000"),
    ],
)
def test_a_bad_option_of_a_film_is_refused_by_name(option, value, problem):
    refusal = said("film", "three-locks", "-o", "run.gif", option, value, code=2)
    assert f"'{option}': {problem}" in refusal


@pytest.mark.parametrize(
    ("speed", "read"), [("auto", "auto"), (".5", 0.5), ("2.", 2.0), ("1e2", 100.0), ("0.0001", 0.0001), ("3", 3.0)]
)
def test_a_speed_is_any_number_in_its_range(speed, read):
    assert {param.name: param for param in film.params}["speed"].type.convert(speed, None, None) == read


def test_a_link_of_another_scenario_is_refused():
    from engine.lab.run.key_moment import key_moment_of
    from engine.lab.scenario.scenario_files import load_scenario

    link = key_moment_of(load_scenario("hello")).link()
    assert "--link: it leads to a run of hello; allowed: a run of three-locks" in said(
        "film", "three-locks", "--link", link, "-o", "x.gif", code=2
    )
