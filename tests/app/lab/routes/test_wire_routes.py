"""Frames of real clients, recorded by a running server and shown by the lab's page."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from tests.support.live.live_server import LiveServer, message


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("wire") / "data", allow_faults=True) as live:
        yield live


def call(live, method, path, body=None, content_type="application/json"):
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    address = f"http://{live.server.page_address}{path}"
    request = urllib.request.Request(address, data, {"Content-Type": content_type}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def upload(live, content):
    parts = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="f.json"\r\n\r\n' + content + b"\r\n--x--\r\n"
    )
    return call(live, "POST", "/lab/wire", parts, "multipart/form-data; boundary=x")


def test_what_clients_said_while_it_was_recorded_can_be_downloaded_and_opened_again(live):
    assert "lab-data" not in call(live, "GET", "/lab/wire")[1]
    assert call(live, "GET", "/api/faults/frames")[0] == 409
    assert json.loads(call(live, "GET", "/api/lab/wire")[1]) == {"lanes": [], "frames": []}
    assert json.loads(call(live, "POST", "/api/faults/record", {"bodies": True})[1])["recording"]["is_on"]
    live.send(message("orders", "hello"))
    assert not json.loads(call(live, "DELETE", "/api/faults/record")[1])["recording"]["is_on"]
    strip = json.loads(call(live, "GET", "/api/lab/wire")[1])
    assert "SEND_MESSAGE_V2" in [frame["name"] for frame in strip["frames"]]
    status, content = call(live, "GET", "/api/faults/frames")
    assert (status, json.loads(content)["format"]) == (200, "glassmq-frames")
    for status, page in (call(live, "GET", "/lab/wire"), upload(live, content.encode())):
        assert status == 200
        assert '"SEND_MESSAGE_V2"' in page


@pytest.mark.parametrize("content", [b"no JSON", b"{}", b"[1]"])
def test_a_file_that_is_none_is_said_on_the_form(live, content):
    status, page = upload(live, content)
    assert status == 400
    assert 'role="alert"' in page


@pytest.mark.parametrize("body", [{"client": 5}, {"client": "a*b"}, {"bodies": "yes"}, {"who": ""}])
def test_a_record_that_cannot_be_asked_for_is_refused_by_name(live, body):
    status, answer = call(live, "POST", "/api/faults/record", body)
    assert status == 400
    assert json.loads(answer)["parameter"] in ("client", "bodies", "who")
