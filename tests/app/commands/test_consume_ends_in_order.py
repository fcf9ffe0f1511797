"""``glassmq consume`` is ended: what it has printed is acknowledged, and stored, before it exits."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.live.glass_process import ROOT, GlassProcess


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with GlassProcess(tmp_path_factory.mktemp("consume")) as process:
        yield process


def tool(server, *arguments: str) -> str:
    command = [sys.executable, "-m", "app.command_line", *arguments, "--name-server", server.name_server]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(server, number):
    topic, group = f"ended_by_{number.name}", f"group_of_{number.name}"
    tool(server, "send", topic, "body {n}", "--count", "3")
    command = [sys.executable, "-m", "app.command_line", "consume", topic, "--group", group]
    with subprocess.Popen(
        [*command, "--name-server", server.name_server],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(3):
            assert "body" in process.stdout.readline()
        process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors
    assert output == ""
    lines = [line.split() for line in tool(server, "groups", group).splitlines()]
    progress = [line for line in lines if topic in line]
    assert len(progress) == 4
    tool(server, "send", topic, "the next one")
    # The next consumer begins after what was printed.
    assert "the next one" in tool(server, "consume", topic, "--group", group, "--count", "1")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_without_room_ends_it_in_one_line_and_leaves_the_message(server):
    tool(server, "send", "full_output", "not printed")
    command = [sys.executable, "-m", "app.command_line", "consume", "full_output", "--group", "full_output"]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*command, "--name-server", server.name_server],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert ended.returncode == 1
    assert "Error: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "not printed" in tool(server, "consume", "full_output", "--group", "full_output", "--count", "1")
