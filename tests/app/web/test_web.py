"""Routes, their errors, languages and headers, over the fixture source."""

import json
import re
import threading

import pytest

from app.pipeline.host import PipelineSettings
from app.web.api import ENTRIES_MAX, SEARCH_LIMIT_MAX
from app.web.flask_application import LANGUAGE_COOKIE
from app.web.throttle import REQUEST_BURST
from app.web_application import WebSettings, create_app
from engine.runtime.live.engine_thread import EngineUnavailable
from engine.texts import LANGUAGES
from tests.support.live.fixture_server import FixtureSource


@pytest.fixture
def source():
    return FixtureSource(0, clock=lambda: 1_800_000_000.0)


@pytest.fixture
def client(source):
    server = create_app(source)
    return server.app.test_client()


def get_json(client, address, status=200, **options):
    response = client.get(address, **options)
    assert response.status_code == status, response.text
    assert response.mimetype == "application/json"
    return response.get_json()


@pytest.mark.parametrize("started", [0, 1])
def test_a_page_that_gets_no_thread_leaves_none_running(source, tmp_path, monkeypatch, started):
    names = []

    def start_some(thread):
        names.append(thread.name)
        if len(names) > started:
            raise RuntimeError("can't start new thread")
        start(thread)

    start = threading.Thread.start
    page = create_app(source, WebSettings(pipeline=PipelineSettings(tmp_path, "127.0.0.1:1")))
    monkeypatch.setattr(threading.Thread, "start", start_some)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        page.start()
    assert names == ["live-stream"] * (started + 1)
    assert [thread for thread in threading.enumerate() if thread.name == "live-stream"] == []


def test_the_state_is_served_for_scripts(client, source):
    assert get_json(client, "/api/live/state") == json.loads(json.dumps(source.state()))


def test_the_history_has_one_value_per_second_and_measure(client):
    history = get_json(client, "/api/live/history")
    assert len({len(values) for values in history.values()}) == 1
    assert history["begin_us"] == sorted(history["begin_us"])


def test_topics_are_found_by_a_part_of_their_name(client):
    answer = get_json(client, "/api/live/topics?text=ORDERS")
    assert list(answer["topics"]) == ["unseen-orders"]


@pytest.mark.parametrize("query", ["", "?text=", f"?text={'x' * 300}"])
def test_a_search_for_topics_needs_a_text_of_bounded_length(client, query):
    assert get_json(client, f"/api/live/topics{query}", 400)["parameter"] == "text"


def test_a_message_is_found_by_topic_and_key(client):
    (summary, *_) = get_json(client, "/api/messages?topic=GT&key=key0")["messages"]
    assert summary["topic"] == "GT"
    assert "key0" in summary["keys"]


def test_a_message_is_found_by_its_unique_id_and_by_its_offset_id(client):
    (wanted, *_) = get_json(client, "/api/messages?topic=GT&key=key0")["messages"]
    assert get_json(client, f"/api/messages?unique_id={wanted['unique_id']}")["messages"] == [wanted]
    assert get_json(client, f"/api/messages?offset_message_id={wanted['offset_message_id']}")["messages"] == [wanted]


def test_an_unknown_id_finds_nothing(client):
    assert get_json(client, f"/api/messages?unique_id={'0' * 32}") == {"messages": []}
    assert get_json(client, f"/api/messages?offset_message_id=7F00000100002A9F{99:016X}") == {"messages": []}


def test_a_record_is_shown_with_its_fields(client):
    view = get_json(client, "/api/messages/at/0")
    assert view["fields"][0]["name"] == "TOTALSIZE"
    assert view["record"]["offset"] == 0


def test_an_offset_at_which_no_record_starts_is_a_404(client):
    assert "no message starts at" in get_json(client, "/api/messages/at/7", 404)["error"]


def test_consume_queue_entries_are_shown_as_bytes_and_fields(client):
    view = get_json(client, "/api/topics/GT/queues/0/entries?start=0&count=3")
    assert len(view["entries"]) == 3
    assert len(view["entries"][0]["hex"]) == 40


def test_a_queue_that_does_not_exist_is_a_404(client):
    assert "no queue 99" in get_json(client, "/api/topics/GT/queues/99/entries", 404)["error"]


@pytest.mark.parametrize(
    ("address", "parameter"),
    [
        ("/api/live/state?x=1", "x"),
        ("/api/messages", "key, unique_id, offset_message_id"),
        ("/api/messages?topic=T", "key, unique_id, offset_message_id"),
        ("/api/messages?key=a&unique_id=b&topic=T", "key, unique_id, offset_message_id"),
        ("/api/messages?key=a", "topic"),
        ("/api/messages?topic=&key=a", "topic"),
        ("/api/messages?topic=T&key=", "key"),
        (f"/api/messages?topic=T&key={'k' * 2000}", "key"),
        ("/api/messages?topic=T&key=a&limit=0", "limit"),
        (f"/api/messages?topic=T&key=a&limit={SEARCH_LIMIT_MAX + 1}", "limit"),
        ("/api/messages?topic=T&key=a&limit=1e3", "limit"),
        ("/api/messages?topic=T&key=a&limit=%D9%A3", "limit"),
        ("/api/messages?offset_message_id=xyz", "offset_message_id"),
        ("/api/messages?offset_message_id=" + "G" * 32, "offset_message_id"),
        ("/api/messages/at/-1", "offset"),
        ("/api/messages/at/99999999999999999999", "offset"),
        ("/api/messages/at/9223372036854775808", "offset"),
        ("/api/messages/at/0?x", "x"),
        ("/api/topics/GT/queues/x/entries", "queue_id"),
        ("/api/topics/GT/queues/0/entries?start=-1", "start"),
        (f"/api/topics/GT/queues/0/entries?count={ENTRIES_MAX + 1}", "count"),
        ("/api/topics/GT/queues/0/entries?offset=1", "offset"),
    ],
)
def test_a_bad_parameter_is_refused_by_name_with_what_is_allowed(client, address, parameter):
    answer = get_json(client, address, 400)
    assert answer["parameter"] == parameter
    assert answer["problem"]
    assert answer["allowed"]


@pytest.mark.parametrize(
    ("address", "status"),
    [("/api/messages/at/7", 404), ("/lab/nothing", 404), ("/tutorials/nothing", 404), ("/api/lab/source", 404)],
)
def test_a_flood_of_requests_is_refused_with_the_time_to_retry(source, address, status):
    client = create_app(source, WebSettings(clock=lambda: 0.0)).app.test_client()
    assert {client.get(address).status_code for _ in range(REQUEST_BURST)} == {status}
    refusal = client.get(address, headers={"Accept-Language": "zh"})
    assert refusal.status_code == 429
    if "/api/" in address:
        assert refusal.headers["Retry-After"] == "1"
        assert refusal.json["error"] == refusal.json["text"]["en"]
    else:
        assert "每秒" in refusal.text
    assert client.get("/healthz").status_code == 200
    assert client.get("/static/favicon.svg").status_code == 200


def test_an_engine_that_does_not_answer_is_a_503(client, source):
    def busy():
        raise EngineUnavailable("the engine did not answer within 5 s")

    source.state = busy
    why = "the engine did not answer within 5 s"
    assert get_json(client, "/api/live/state", 503) == {
        "error": why,
        "text": {"en": why, "zh": f"引擎现在无法回答：{why}"},
    }


@pytest.mark.parametrize("address", ["/api/nothing", "/api/messages/at/", "/api/live/state/"])
def test_an_unknown_api_address_is_answered_in_json(client, address):
    assert get_json(client, address, 404) == {
        "error": f"404: there is nothing at {address}",
        "text": {"en": f"404: there is nothing at {address}", "zh": f"404：{address} 没有内容"},
    }


@pytest.mark.parametrize(
    "address",
    [
        "/api/nothing",
        "/api/messages/at/7",
        "/api/topics/NONE/messages?from=0&to=1",
        "/api/topics/NONE/messages?from=0&to=1&queue=2",
        "/api/topics/GT/queues/99/entries",
        "/api/live/dead-letters/nobody",
    ],
)
def test_what_the_api_does_not_find_it_says_in_both_languages(client, address):
    answer = get_json(client, address, 404)
    assert answer["text"].keys() == set(LANGUAGES)
    assert answer["error"] == answer["text"]["en"] != answer["text"]["zh"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("address", "size", "status", "allowed"),
    [
        ("/api/live/state", 0, 405, "GET, HEAD, OPTIONS"),
        ("/live", 0, 405, "GET, HEAD, OPTIONS"),
        ("/api/filter/tags", (64 << 10) + 1, 413, "65536"),
        ("/lab/wire", (8 << 20) + 1, 413, "8388608"),
    ],
)
def test_a_method_or_a_size_that_is_not_allowed_is_answered_with_those_that_are(
    client, language, address, size, status, allowed
):
    mime_type = "application/json" if address.startswith("/api/") else "multipart/form-data; boundary=b"
    response = client.post(address, data=bytes(size), content_type=mime_type, headers={"Accept-Language": language})
    assert response.status_code == status
    reported = response.get_json()["text"][language] if response.is_json else response.text
    assert ("allowed" if language == "en" else "允许") in reported and allowed in reported


@pytest.mark.parametrize(("language", "word"), [("en", "nothing"), ("zh", "没有")])
def test_an_unknown_page_is_explained_in_the_visitor_s_language(client, language, word):
    response = client.get("/nowhere", headers={"Accept-Language": language})
    assert response.status_code == 404
    assert word in response.text


def test_an_unknown_page_leads_a_browser_back(client):
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    response = client.get("/no<b>where", headers=browser)
    assert (response.status_code, response.mimetype) == (404, "text/html")
    assert 'href="/"' in response.text
    assert "no&lt;b&gt;where" in response.text
    assert "<b>" not in response.text
    assert client.get("/nowhere", headers={"Accept": "*/*"}).mimetype == "text/plain"


@pytest.mark.parametrize("address", ["/", "/live"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_page_is_served_in_both_languages(client, address, language):
    response = client.get(f"{address}?lang={language}")
    assert response.status_code == 200
    assert f'lang="{language}' in response.text
    assert f"{LANGUAGE_COOKIE}={language}" in response.headers["Set-Cookie"]


def test_the_language_that_was_asked_for_is_remembered(client):
    client.get("/nowhere?lang=zh")
    assert "没有" in client.get("/nowhere", headers={"Accept-Language": "en"}).text


@pytest.mark.parametrize("language", ["xx", "", "en-US'; --", "../zh"])
def test_a_language_that_does_not_exist_is_ignored(client, language):
    response = client.get("/nowhere", query_string={"lang": language})
    assert "nothing" in response.text
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize(
    ("accepted", "word"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "没有"),
        ("fr, en;q=0.2, zh;q=0.7", "没有"),
        ("zh-Hans-CN, en;q=0.9", "没有"),
        ("en, ZH-CN", "nothing"),
        ("zh;q=0, *", "nothing"),
        ("de", "nothing"),
        ("zh;q=x, en", "nothing"),
        ("", "nothing"),
    ],
)
def test_the_browser_s_languages_are_weighed(client, accepted, word):
    assert word in client.get("/nowhere", headers={"Accept-Language": accepted}).text


@pytest.mark.parametrize("address", ["/", "/live", "/healthz", "/api/live/state", "/nowhere", "/api/messages/at/x"])
def test_every_answer_carries_the_security_headers(client, address):
    headers = client.get(address).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers


def test_inline_scripts_of_the_pages_carry_the_nonce_of_their_own_answer(client):
    for address in ("/", "/live"):
        response = client.get(address)
        (nonce,) = re.findall(r"'nonce-([^']+)'", response.headers["Content-Security-Policy"])
        for attributes in re.findall(r"<script([^>]*)>", response.text):
            is_data = 'type="application/json"' in attributes
            assert is_data or "src=" in attributes or f'nonce="{nonce}"' in attributes
        assert not re.search(r"\son\w+=", response.text)
        assert "style=" not in response.text


def test_cookies_cannot_be_read_by_scripts_or_sent_by_other_sites(client):
    cookie = client.get("/nowhere?lang=en").headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
