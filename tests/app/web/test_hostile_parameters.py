"""Whatever stands in a parameter of the API: it is answered or refused, never a failure, and it starts nothing."""

import itertools
import json
import sys
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.pipeline.host import PipelineSettings
from app.web_application import WebSettings, create_app
from engine.pipeline.jobs.description import ParameterKind
from engine.pipeline.jobs.registry import JOB_NAMES, describe
from tests.support.live.fixture_server import FixtureSource
from tests.support.tiers import examples

TEXTS = st.text(max_size=40) | st.sampled_from(
    ["-1", "9" * 30, "1e9", "NaN", "Infinity", "9999999999999d", "../../x", "\0", "٣", "1_0", "0x10", str(1 << 63)]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
READ = [
    "/api/messages?key={}&topic={}&limit={}",
    "/api/messages/trail?name={}&topic={}",
    "/api/messages/at/{}",
    "/api/live/history?from={}&to={}",
    "/api/live/clients?group={}",
    "/api/storage/stores?topics={}&messages={}&codec={}",
    "/api/storage/file?store={}&path={}&at={}",
    "/api/storage/find?by={}&topic={}&queue={}&value={}",
    "/api/storage/runs/{}",
    "/api/topics/{}/queues/{}/entries?start={}&count={}",
    "/api/topics/{}/messages?from={}&to={}&queue={}&count={}&before={}",
    "/api/live/dead-letters/{}?start={}&count={}",
    "/api/pipeline/runs/{}",
    "/api/lab/{}/journal?text={}&from={}&count={}",
    "/api/lab/{}/journal?after={}&count={}&matters={}",
    "/api/lab/{}/window?left_us={}&right_us={}",
    "/api/lab/{}/why?key={}",
    "/api/lab/{}/records/{}/{}",
    "/api/lab/{}/lives?contains={}&limit={}",
    "/api/lab/explorations/{}",
    "/api/lab/source?file={}",
    "/lab/{}?world={}",
    "/tutorials/{}",
]
WRITTEN = {
    "/api/filter/evaluate": ("expression", "properties"),
    "/api/filter/tags": ("expression", "tag"),
    "/api/pipeline/runs": ("job", "arguments", "keys"),
    "/api/live/transactions/commit": ("message", "anyway"),
    "/api/live/dead-letters/g/resend": ("messages", "to", "anyway", "start"),
    "/api/live/topics": ("topic", "queues"),
    "/api/live/verdict/thresholds": ("group_behind", "dead_letters"),
    "/api/live/messages": ("topic", "body", "tag", "keys", "delay_level"),
    "/api/live/offsets": ("group", "topic", "to", "time_ms", "queue_id", "offset", "preview"),
    "/api/lab/explorations": ("world", "max_stalls", "hold_ms", "from_ms"),
    "/api/lab/explorations/plan": ("world", "lose", "crash", "without", "forced_unlocks"),
    "/api/lab/w/audit": ("event",),
    "/api/lab/w/variant": ("change",),
    "/api/lab/import": ("format", "version", "scenario", "text", "seed", "commands", "event", "time_us"),
    "/api/lessons/01-first-message/check": ("world", "step", "prediction"),
}
RAW = st.one_of(
    st.binary(max_size=20),
    JSON.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.sampled_from(
        [
            b'{"topic": "a", "topic": "b"}',
            b'{"message": {"a": 1, "a": 1}}',
            b'{"queues": NaN}',
            b'{"queues": -Infinity, "topic": "a"}',
            b'{"queues": 1e999}',
            b'{"queues": ' + b"9" * 5_000 + b"}",
            b"[" * 900 + b"]" * 900,
            b"[" * 100_000,
            b'{"topic": "\\ud800"}',
            b'\xef\xbb\xbf{"topic": "a"}',
            b'{"topic": "\xff"}',
            b"null",
            b"",
        ]
    ),
)
NUMBERS = [
    (job, one)
    for job in JOB_NAMES
    for one in describe(job).parameters
    if one.kind in (ParameterKind.INTEGER, ParameterKind.DURATION)
]
many = settings(
    max_examples=examples(quick=30, full=150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


#: Parts of an address that are filled, at most.
MOST_PARTS = max(address.count("{}") for address in READ)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose clients are never too fast: a second passes with every reading of the clock."""
    seconds = itertools.count()
    pipeline = PipelineSettings(
        tmp_path_factory.mktemp("pipeline"), "127.0.0.1:1", command=(sys.executable, "-c", "pass"), niceness=0
    )
    made = create_app(
        FixtureSource(0), WebSettings(clock=lambda: next(seconds), lab_has_thread=False, pipeline=pipeline)
    )
    yield made
    made.pipeline.close()
    made.lab.stop()


@pytest.fixture(scope="module")
def client(server):
    client = server.app.test_client()
    client.set_cookie("glassmq_browser", "a" * 22)
    return client


@many
@given(st.sampled_from(READ), st.lists(TEXTS, min_size=MOST_PARTS, max_size=MOST_PARTS))
def test_no_text_in_an_address_makes_the_server_fail(client, address, texts):
    filled = address.format(*(quote(text, safe="", errors="replace") for text in texts))
    assert client.get(filled).status_code < 500


@many
@given(st.sampled_from(sorted(WRITTEN)), st.data())
def test_no_value_in_a_body_makes_the_server_fail_or_starts_anything(server, client, address, data):
    body = data.draw(st.fixed_dictionaries(dict.fromkeys(WRITTEN[address], JSON)))
    assert client.post(address, json=body).status_code < 500
    assert server.pipeline.runs() == []
    assert server.lab.worlds.sessions == {}


@many
@given(st.sampled_from(sorted(WRITTEN)), RAW)
def test_no_body_makes_the_server_fail(server, client, address, data):
    answer = client.post(address, data=data, content_type="application/json")
    assert answer.status_code < 500
    assert answer.status_code < 400 or answer.json["error"]
    assert server.pipeline.runs() == []


@many
@given(st.sampled_from(NUMBERS), st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_out_of_range_starts_no_job(server, client, chosen, number):
    job, parameter = chosen
    if isinstance(number, int) and parameter.minimum <= number <= parameter.maximum:
        number = parameter.maximum + 1 + number
    required = {one.name: "T" for one in describe(job).parameters if one.required and one.default is None}
    for value in (number, f"{abs(int(number))}d" if abs(number) > parameter.maximum else number):
        answer = client.post("/api/pipeline/runs", json={"job": job, "arguments": {**required, parameter.name: value}})
        assert answer.status_code == 400
        assert set(answer.json["text"]) == {"en", "zh"}
    assert server.pipeline.runs() == []
