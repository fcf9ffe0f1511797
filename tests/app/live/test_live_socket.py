"""The live stream over real sockets: the product's server, a client that can misbehave."""

import contextlib
import json
import threading
import urllib.error
import urllib.request

import pytest

from app.foundation.patch import apply_patch
from app.foundation.viewer import BAD_EVENTS_MAX, EVENT_BURST, WINDOW
from app.web.access_gate import SOCKET_SESSIONS_MAX
from app.web.socket_namespace import MESSAGE_MAX_BYTES, open_socket_sessions
from tests.support.live.fixture_server import create_fixture_server
from tests.support.live.socket_browser import Refused, SocketBrowser
from tests.support.waiting import wait_until


class Page:
    def __init__(self, messages_per_second, token=None):
        self.listener, self.server, self.source = create_fixture_server(messages_per_second, 0, token)
        self.address = self.listener.bound_address
        self.server.stream.start()
        threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True).start()
        self._open = contextlib.ExitStack()

    def browser(self, **options):
        return self._open.enter_context(contextlib.closing(SocketBrowser(self.address, **options)))

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=60) as answer:
            return answer.status, answer.read()

    def post(self, path, body):
        with urllib.request.urlopen(f"http://{self.address}{path}", body, timeout=60) as answer:
            return answer.status

    def close(self):
        self._open.close()
        self.server.stream.stop()
        self.listener.shutdown()


def requests_served():
    return sum("process_request_thread" in thread.name for thread in threading.enumerate())


@pytest.fixture
def page():
    page = Page(messages_per_second=200)
    yield page
    page.close()


def test_a_browser_gets_a_snapshot_and_then_patches_that_lead_to_the_source_s_state(page):
    browser = page.browser()
    name, snapshot = browser.receive()
    assert name == "snapshot"
    assert set(snapshot["history"]) >= {"begin_us", "in_messages"}
    state, sequence = snapshot["state"], snapshot["sequence"]
    browser.send("acknowledge", {"sequence": sequence})
    for _ in range(5):
        name, patch = browser.receive()
        assert (name, patch["sequence"]) == ("patch", sequence + 1)
        sequence = patch["sequence"]
        state = apply_patch(state, patch["operations"])
        browser.send("acknowledge", {"sequence": sequence})
    tail = state["commit_log"]["records"]
    assert tail[-1]["offset"] + tail[-1]["size_bytes"] == state["commit_log"]["max"]


def test_a_browser_that_never_acknowledges_gets_no_more_than_the_window(page):
    browser = page.browser()
    for _ in range(WINDOW):
        assert browser.receive() is not None
    browser.patience(2)
    assert browser.receive() is None
    assert page.get("/healthz")[0] == 200


def test_a_resync_is_answered_by_a_snapshot(page):
    browser = page.browser()
    browser.receive()
    browser.send("resync", {})
    for _ in range(WINDOW):
        name, _ = browser.receive()
        if name == "snapshot":
            return
    pytest.fail("no snapshot came")


def test_a_flood_is_disconnected_with_a_reason_and_others_go_on(page):
    flooder, other = page.browser(), page.browser()
    with contextlib.suppress(OSError):
        for _ in range(50 * EVENT_BURST):
            flooder.send("resync", {})
    events = []
    while (event := flooder.receive()) is not None:
        events.append(event)
    assert ("goodbye", {"reason": "too many events"}) in events
    assert other.receive()[0] == "snapshot"
    assert page.get("/healthz")[0] == 200


def test_a_message_that_is_too_long_ends_the_connection_and_nothing_else(page):
    browser = page.browser()
    browser.send("acknowledge", {"sequence": "x" * (2 * MESSAGE_MAX_BYTES)})
    while browser.receive() is not None:
        pass
    assert page.browser().receive()[0] == "snapshot"


@pytest.mark.parametrize(
    "text",
    ["", "x", "4", "42", "42/live", "42/live,", "42/live,{", '42/live,"x"', "42/live,[]", "42/live,[1]", "42/live,[[]]",
     "451-/live,[]", "43/live,99[]", "40/other,", "9", "1", "6", '42["acknowledge",{"sequence":1}]', "42/live,[null]"],
)  # fmt: skip
def test_garbage_frames_harm_nobody_else(page, text):
    page.browser().send_raw(text)
    assert page.browser().receive()[0] == "snapshot"


def test_a_namespace_that_does_not_exist_is_refused(page):
    browser = page.browser(join=False)
    browser.send_raw("40/admin,")
    answer = browser.receive_text()
    assert answer.startswith("44/admin,")


def test_sessions_that_watch_nothing_make_room_and_watching_ones_stay(page):
    watching = page.browser()
    watching.receive()
    for _ in range(SOCKET_SESSIONS_MAX + 10):
        assert page.get("/socket.io/?EIO=4&transport=polling")[0] == 200
    assert page.browser().receive()[0] == "snapshot"
    assert page.server.stream.viewer_count == 2
    assert open_socket_sessions(page.server.socketio) <= SOCKET_SESSIONS_MAX


def test_web_sockets_that_watch_nothing_are_closed_for_those_that_do(page):
    before = requests_served()  # those of other tests may still be ending
    for _ in range(SOCKET_SESSIONS_MAX):
        page.browser(join=False)
    assert page.browser().receive()[0] == "snapshot"
    # Half as long as a silent one may stay.
    wait_until(
        lambda: requests_served() <= before + SOCKET_SESSIONS_MAX, f"at most {SOCKET_SESSIONS_MAX} more requests", 12
    )


def test_a_browser_that_is_sent_away_and_never_reads_keeps_no_thread(page):
    sid = json.loads(page.get("/socket.io/?EIO=4&transport=polling")[1][1:])["sid"]
    address = f"/socket.io/?EIO=4&transport=polling&sid={sid}"
    page.post(address, b"40/live,")
    before = threading.active_count()
    for _ in range(BAD_EVENTS_MAX):
        with contextlib.suppress(urllib.error.HTTPError):  # the session is gone already
            page.post(address, b'42/live,["nonsense"]')
    assert page.server.stream.viewer_count == 0
    wait_until(lambda: threading.active_count() <= before, f"at most {before} threads")


def test_a_browser_from_another_site_cannot_connect(page):
    with pytest.raises(Refused):
        page.browser(headers={"Origin": "http://evil.example"})


def test_a_browser_without_the_token_cannot_connect():
    page = Page(0, token="long-enough-token")
    try:
        with pytest.raises(Refused):
            page.browser()
        with contextlib.closing(
            SocketBrowser(page.address, headers={"Authorization": "Bearer long-enough-token"})
        ) as browser:
            assert browser.receive()[0] == "snapshot"
    finally:
        page.close()


def test_a_browser_that_left_is_forgotten(page):
    browser = page.browser()
    browser.receive()
    assert page.server.stream.viewer_count == 1
    browser.close()
    wait_until(
        lambda: page.server.stream.viewer_count == 0 and open_socket_sessions(page.server.socketio) == 0,
        "a page without viewers",
    )
