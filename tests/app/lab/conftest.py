"""A page server whose lab is served by the test itself: no thread, no waiting."""

from __future__ import annotations

import pytest

from app.foundation.patch import apply_patch
from app.lab.routes.namespace import NAMESPACE
from app.web_application import WebSettings, create_app
from tests.support.live.fixture_server import FixtureSource


class Clock:
    """Monotonic seconds that pass when the test says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class LabBrowser:
    """One page: keeps the view up to date as the page's own code does."""

    def __init__(self, lab, flask_client):
        self._lab = lab
        self.http = flask_client
        self._socket = lab.server.socketio.test_client(lab.server.app, NAMESPACE, flask_test_client=flask_client)
        self.view = None
        self.world = None
        self.mine = None
        self.sequence = 0
        self.journal = []
        self.refused = []
        self.found = None
        self.goodbye = None
        self.acknowledges = True

    def connected(self):
        return self._socket.is_connected(NAMESPACE)

    def send(self, event, *arguments):
        """Send, serve until there is nothing urgent, receive. Returns the view."""
        self.emit(event, *arguments)
        self._lab.clock.now += 0.05
        self._lab.serve()
        return self.receive()

    def emit(self, event, *arguments):
        """Only send."""
        self._socket.emit(event, *arguments, namespace=NAMESPACE)

    def open(self, **request):
        return self.send("open", request)

    def control(self, action, **values):
        return self.send("control", {"action": action, **values})

    def command(self, kind, target="", **values):
        return self.send("command", {"kind": kind, "target": target, **values})

    def receive(self):
        for message in self._socket.get_received(NAMESPACE):
            payload = message["args"][0] if isinstance(message["args"], list) else message["args"]
            self._take(message["name"], payload)
        return self.view

    def _take(self, name, payload):
        match name:
            case "snapshot":
                self.view, self.world, self.mine = payload["view"], payload["world"], payload["mine"]
            case "patch":
                assert payload["sequence"] == self.sequence + 1
                self.view = apply_patch(self.view, payload["operations"])
            case "journal":
                self.journal = [entry for entry in self.journal if entry[0] <= payload["from"]] + payload["entries"]
                return
            case "refused":
                self.refused.append(payload)
                return
            case "found":
                self.found = payload
                return
            case "goodbye":
                self.goodbye = payload
                return
        self.sequence = payload["sequence"]
        if self.acknowledges:
            self._socket.emit("acknowledge", {"sequence": self.sequence}, namespace=NAMESPACE)

    def close(self):
        self._socket.disconnect(NAMESPACE)


class Lab:
    def __init__(self, pipeline=None):
        self.clock = Clock()
        settings = WebSettings(lab_clock=self.clock, lab_has_thread=False, pipeline=pipeline)
        self.server = create_app(FixtureSource(0), settings)
        self.host = self.server.lab
        self._browsers = []

    def browser(self, like=None, with_cookies=True):
        """A page of a new browser, or a further page of the browser of ``like``."""
        http = like.http if like is not None else self.server.app.test_client()
        if like is None and with_cookies:
            assert http.get("/lab").status_code == 200
        browser = LabBrowser(self, http)
        self._browsers.append(browser)
        return browser

    def serve(self, turns=400):
        """Let the lab work until no request waits for anything, or for this number of turns."""
        for _ in range(turns):
            self.host.serve_once()
            if not any(session.player.has_job or session.is_urgent for session in self.host.worlds.sessions.values()):
                return

    def pass_time(self, seconds, step=0.05):
        """Real time goes by for the lab, and the pages receive what it sends."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now += step
            self.host.serve_once()
            for browser in self._browsers:
                if browser.connected():
                    browser.receive()

    def close(self):
        self.host.stop()
        if self.server.pipeline is not None:
            self.server.pipeline.close()


@pytest.fixture
def lab():
    lab = Lab()
    yield lab
    lab.close()
