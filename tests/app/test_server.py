"""What ``glassmq serve`` runs, and when its page is made."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading

import pytest
from werkzeug.test import Client

from app.server import PageOnDemand, PageSettings, Server
from engine.live.live_machines import LiveHostSettings, StartFailed
from tests.interop.harness.ports import free_broker_port
from tests.support.live.glass_process import GlassProcess

PROGRAM = """
import sys, urllib.request
from pathlib import Path
from engine.live.live_machines import LiveHostSettings
from engine.broker.foundation.broker_config import BrokerConfig
from engine.name_server.name_server_config import NameServerConfig
from app.server import PageSettings, Server

def has_page():
    return any(name in sys.modules for name in ("werkzeug", "flask", "socketio", "engine.lab"))

engine = LiveHostSettings(Path(sys.argv[1]), NameServerConfig(port=0), BrokerConfig(port=0))
server = Server(engine, PageSettings(port=0))
server.start()
before = has_page()
answer = urllib.request.urlopen(f"http://{server.page_address}/healthz").status
server.stop()
print(before, answer, has_page())
"""


class _Page:
    """Stands for the page's parts."""

    def __init__(self):
        self.stops = 0

    def app(self, environ, start_response):
        start_response("200 OK", [])
        return [b"here"]

    def stop(self):
        self.stops += 1


def test_a_server_that_nobody_looks_at_imports_neither_web_server_nor_lab(tmp_path):
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["False", "200", "True"], run.stderr


def test_a_missing_package_of_the_page_names_what_to_install(tmp_path, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "flask_socketio" else find_spec(name))
    server = Server(LiveHostSettings(tmp_path), PageSettings(port=0))
    with pytest.raises(StartFailed, match=r"flask_socketio: pip install 'glassmq\[page\]', or serve without it"):
        server.start()


def test_requests_that_come_at_once_share_one_page():
    made, may_go_on = [], threading.Event()

    def make():
        assert may_go_on.wait(10)
        made.append(_Page())
        return made[-1]

    page = PageOnDemand(make)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(Client(page).get("/").text)) for _ in range(3)]
    for thread in threads:
        thread.start()
    may_go_on.set()
    for thread in threads:
        thread.join(10)
    assert (answers, len(made)) == (["here"] * 3, 1)
    page.close()
    assert made[0].stops == 1


def test_a_page_that_was_closed_is_not_made_any_more():
    page = PageOnDemand(_Page)  # type: ignore[arg-type]  # it stands for one
    page.close()
    assert (Client(page).get("/").status_code, page.get()) == (503, None)


def test_a_page_that_cannot_be_made_is_reported_and_tried_again_by_the_next_request(caplog):
    outcomes = [OSError("no room"), _Page()]

    def make():
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    page = PageOnDemand(make)
    with pytest.raises(OSError, match="no room"):
        Client(page).get("/")
    assert "the page cannot be rendered" in caplog.text
    assert Client(page).get("/").text == "here"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ((), "VIP channel  none: 127.0.0.1:{vip} is in use already  (for Java clients 4.1 to 4.4)"),
        (("--broker-setting", "vipChannelEnable=false"), None),
    ],
)
def test_a_server_whose_vip_port_is_taken_starts_and_says_so_unless_it_is_off(tmp_path, options, line):
    broker = free_broker_port()
    with (
        socket.create_server(("127.0.0.1", broker - 2)),
        GlassProcess(tmp_path, "--broker-port", str(broker), *options) as process,
    ):
        assert process.broker == f"127.0.0.1:{broker}"
        said = [text.strip() for text in process.lines if "VIP" in text]
        assert said == ([] if line is None else [line.format(vip=broker - 2)])
