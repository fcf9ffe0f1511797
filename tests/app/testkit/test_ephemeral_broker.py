"""``glassmq serve --ephemeral`` in a process of its own: what its ready file says, and that it leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.command_line import main
from app.testkit.ephemeral_broker import EphemeralBroker
from engine.client import Message
from engine.live.live_machines import StartFailed
from engine.testkit import GlassMQ, TestKitError
from tests.support.live.kit_clients import send
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[3]
SERVE = (sys.executable, "-m", "app.command_line", "serve", "--ephemeral")
DEADLINE_S = 60


class ReadyFile:
    """The addresses of a broker, for clients of the test kit."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):
        return json.loads(self.path.read_text())[name]

    def call(self, method, path, body=None):
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.api + path, content, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return json.load(answer)


@contextmanager
def serving(folder, *options, **settings):
    ready = ReadyFile(folder / "ready.json")
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [*SERVE, "--ready-file", str(ready.path), *options]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, **settings) as process:
        try:
            wait_until(lambda: ready.path.exists() or process.poll() is not None, "the ready file", DEADLINE_S)
            assert process.poll() is None
            yield process, ready
        finally:
            process.kill()


def test_a_ready_file_that_a_killed_process_left_is_gone_before_anything_starts(tmp_path, monkeypatch):
    def fails(_kit):
        raise TestKitError("it does not start")

    monkeypatch.setattr(GlassMQ, "start", fails)
    left = tmp_path / "ready.json"
    left.write_text("{}")
    with pytest.raises(StartFailed, match="does not start"):
        EphemeralBroker("127.0.0.1", left, (), ()).start()
    assert not left.exists()


def test_the_ready_file_names_what_answers_and_is_gone_at_the_end(tmp_path):
    with serving(tmp_path) as (process, ready):
        addresses = json.loads(ready.path.read_text())
        assert addresses == ready.call("GET", "/addresses")
        assert addresses["pid"] == process.pid
        ports = [addresses[name] for name in ("name_server_port", "broker_port", "http_port")]
        assert len(dict.fromkeys(ports)) == 3
        send(ready, Message("orders", b"1", "placed", "17"))
        assert ready.call("POST", "/wait-for", {"topic": "orders"})["messages"][0]["keys"] == ["17"]
        maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
        mapped = [line.split()[-1] for line in maps if "commitlog" in line]
        assert all(Path(file).exists() for file in mapped)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    assert not ready.path.exists()
    assert not any(Path(file).exists() for file in mapped)
    assert list(tmp_path.iterdir()) == []


def test_it_ends_when_its_standard_input_is_closed(tmp_path):
    with serving(tmp_path, "--exit-with-parent", stdin=subprocess.PIPE) as (process, _):
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 0


def test_it_ends_when_its_parent_has_ended(tmp_path):
    """The parent gives it no pipe, and is killed."""
    starter = "import subprocess, sys, time; subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL); time.sleep(600)"
    ready = ReadyFile(tmp_path / "ready.json")
    command = [sys.executable, "-c", starter, *SERVE, "--exit-with-parent", "--ready-file", str(ready.path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as parent:
        try:
            wait_until(ready.path.exists, "the ready file", DEADLINE_S)
        finally:
            parent.kill()
    wait_until(lambda: not ready.path.exists(), "its end", DEADLINE_S)


def test_it_needs_no_package_of_the_page(tmp_path):
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('flask', 'werkzeug', 'socketio', 'sqlite_utils')));"
        "from app.testkit.ephemeral_broker import EphemeralBroker;"
        "broker = EphemeralBroker('127.0.0.1', None, (), ()); broker.start(); broker.stop()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=DEADLINE_S)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--ephemeral", "--data", "x"), ("--data", "--host", "--ready-file")),
        (("--ready-file", "x"), ("--ephemeral",)),
        (("--exit-with-parent",), ("--ephemeral",)),
        (("--ephemeral", "--broker-setting", "autoCreateTopic=1"), ("autoCreateTopicEnable",)),
        (("--ephemeral", "--broker-setting", "brokerPort"), ("NAME=VALUE",)),
        (("--ephemeral", "--host", "192.0.2.1"), ("192.0.2.1",)),
    ],
)
def test_bad_options_are_refused_with_what_is_allowed(arguments, words):
    result = CliRunner().invoke(main, ["serve", *arguments])
    assert result.exit_code != 0
    assert all(word in result.output for word in words), result.output
