"""What counters did in the last minute, hour and day."""

import json

import pytest

from engine.broker.foundation.traffic_samples import SampleSpan, Traffic, TrafficSamples
from engine.protocol.command.headers import ViewBrokerStatsDataRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import LabClient, broker_lab


def test_a_minute_forgets_what_is_older_and_the_hour_does_not():
    samples: TrafficSamples[str] = TrafficSamples()
    traffic = Traffic(in_messages=60, in_requests=6)
    for _ in range(7):
        samples.sample({"T": traffic})
    assert samples.item("T", SampleSpan.MINUTE, "TOPIC_PUT_NUMS").sum == 0
    for _ in range(60 - 7):
        samples.sample({"T": traffic})
    hour = samples.item("T", SampleSpan.HOUR, "TOPIC_PUT_NUMS")
    assert (hour.sum, hour.average_per_time) == (60, 10.0)
    assert hour.tps == pytest.approx(60 / 600)
    assert samples.item("T", SampleSpan.DAY, "TOPIC_PUT_NUMS").sum == 0


def test_a_day_reaches_back_24_hours():
    samples: TrafficSamples[str] = TrafficSamples()
    traffic = Traffic()
    for _ in range(30):
        traffic.in_messages += 100
        for _ in range(360):
            samples.sample({"T": traffic})
    day = samples.item("T", SampleSpan.DAY, "TOPIC_PUT_NUMS")
    assert day.sum == 2_400
    assert day.tps == pytest.approx(2_400 / 86_400)


def test_what_was_never_sampled_is_zero_and_what_is_forgotten_too():
    samples: TrafficSamples[str] = TrafficSamples()
    samples.sample({"T": Traffic(out_messages=5), "U": Traffic(out_messages=5)})
    samples.forget(lambda key: key == "T")
    assert samples.item("T", SampleSpan.MINUTE, "GROUP_GET_NUMS").sum == 0
    assert samples.item("U", SampleSpan.MINUTE, "GROUP_GET_NUMS").sum == 5


def ask(client: LabClient, name: str, key: str) -> RemotingCommand:
    return client.call(RequestCode.VIEW_BROKER_STATS_DATA, ViewBrokerStatsDataRequestHeader(name, key))


def test_a_tool_gets_what_went_in_and_out():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        for _ in range(20):
            client.send()
        client.pull()
        lab.run_for(11_000)
        put = json.loads(ask(client, "TOPIC_PUT_NUMS", "T").body)
        assert put["statsMinute"] == {"sum": 20, "tps": 2.0, "avgpt": 1.0}
        assert put["statsDay"]["sum"] == 0
        got = json.loads(ask(client, "GROUP_GET_NUMS", "T@consumers").body)
        assert got["statsMinute"] == {"sum": 20, "tps": 2.0, "avgpt": 20.0}
        size = json.loads(ask(client, "GROUP_GET_SIZE", "T@consumers").body)["statsMinute"]["sum"]
        assert size > 20 * len(b"hello")
        broker = json.loads(ask(client, "BROKER_PUT_NUMS", "DefaultCluster").body)
        assert broker["statsMinute"]["sum"] == 20


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("NO_SUCH_STATS", "T"),
        ("TOPIC_PUT_NUMS", "Nowhere"),
        ("TOPIC_PUT_NUMS", "Empty"),
        ("GROUP_GET_NUMS", "T@nobody"),
        ("GROUP_GET_NUMS", "T"),
        ("BROKER_PUT_NUMS", "OtherCluster"),
    ],
)
def test_a_counter_that_is_not_there_is_refused_with_those_that_are(name, key):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 1)
        client.create_topic("Empty", 1)
        client.send()
        reply = ask(client, name, key)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "TOPIC_PUT_NUMS" in (reply.remark or "")
