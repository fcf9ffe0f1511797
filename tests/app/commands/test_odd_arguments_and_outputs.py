"""Arguments that are not text, hosts that cannot exist, outputs without room: one line, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import COMMANDS, main

ROOT = Path(__file__).parents[3]
NOT_UTF_8 = "a\udcffb"  # what Python makes of the bytes a, 0xff, b


def refused(*arguments, code):
    result = CliRunner().invoke(main, [*arguments], prog_name="glassmq")
    assert result.exit_code == code, (result.output, result.exception)
    *_, line = result.output.strip().splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("place", ["argument", "option"])
def test_bytes_that_are_not_text_are_refused_by_every_command(command, place):
    odd = [NOT_UTF_8] if place == "argument" else [f"--name-server={NOT_UTF_8}"]
    assert r"the argument" in (line := refused(command, *odd, code=2))
    assert r"a\udcffb is not UTF-8 text" in line.replace("--name-server=", "")


@pytest.mark.parametrize("host", ["..", "a..b", "a" * 64])
@pytest.mark.parametrize(
    "arguments",
    [
        ("topics", "--name-server", "{host}:9876"),
        ("send", "t", "x", "--name-server", "{host}:9876"),
        ("consume", "t", "--group", "g", "--name-server", "{host}:9876"),
        ("serve", "--no-page", "--host", "{host}"),
        ("serve", "--no-page", "--name-server-port", "0", "--broker-port", "0", "--slave-of", "{host}:9876"),
    ],
)
def test_a_name_that_no_host_can_have_is_refused(host, arguments, tmp_path):
    folder = ["--data", str(tmp_path)] if arguments[0] == "serve" else []
    line = refused(*(word.format(host=host) for word in arguments), *folder, code=1)
    assert host in line
    assert "no host can have that name" in line


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["topics", "--help"], ["lab", "run", "01-first-message"]]
)
def test_an_output_without_room_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "app.command_line", *arguments],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert "Error: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("written", "meant"), [("messages", "message"), ("topic", "topics"), ("dead-letter", "dead-letters")]
)
def test_an_unknown_command_is_answered_with_the_likely_one(written, meant):
    assert f"did you mean {meant}?" in refused(written, code=2)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8"])
def test_characters_that_the_output_cannot_show_are_escaped(encoding):
    ended = subprocess.run(
        [sys.executable, "-m", "app.command_line", "lab", "why", "01-first-message", "消息"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": f"{encoding}:strict"},
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "消息".encode(encoding, "backslashreplace") in ended.stdout
    assert b"Traceback" not in ended.stderr
