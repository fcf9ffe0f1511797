"""The input of the verdict on a broker, including what is too much for a page."""

from __future__ import annotations

import pytest

from app.observation import connections_view, topics_view
from app.observation.client_names import ClientNames
from app.observation.live_state import LiveState
from app.observation.recent_log import RecentLog
from app.watch.thresholds import Thresholds
from app.watch.watcher import Watcher
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import broker_lab


@pytest.fixture
def lab():
    with broker_lab() as lab:
        lab.client().create_topic("orders", queues=1)
        yield lab


@pytest.fixture
def looks(lab):
    """What the verdict says after one more look."""
    state, watcher = LiveState(lab.name_server, lab.broker, "", RecentLog(), ClientNames()), Watcher(Thresholds())
    watcher.change_thresholds({"client_unread": 3})

    def look():
        lab.run_for(1_000)
        watcher.look({**state.brief()}, ())
        return watcher.as_json()["text"]["en"]

    return look


def die(lab, group):
    client = lab.client(f"client of {group}")
    client.heartbeat(group, {"orders": "*"})
    client.send("orders")
    (*_, received) = client.messages("orders", group=group)
    assert client.send_back(received, group=group, delay_level=-1).code == ResponseCode.SUCCESS


def test_the_first_dead_letters_are_said_and_those_from_before_are_not(lab, looks):
    die(lab, "old")
    assert "dead letter" not in looks()
    die(lab, "billing")
    assert "1 new dead letter of billing" in looks()
    die(lab, "billing")
    assert "2 new dead letters of billing" in looks()


def test_dead_letters_of_a_topic_that_no_page_shows_are_said(lab, looks, monkeypatch):
    monkeypatch.setattr(topics_view, "TOPICS_MAX", 1)
    looks()
    die(lab, "billing")
    assert "1 new dead letter of billing" in looks()


def test_a_client_that_no_page_shows_and_that_does_not_read_is_said(lab, looks, monkeypatch):
    monkeypatch.setattr(connections_view, "CONNECTIONS_MAX", 0)
    client = lab.client()
    client.send("orders", b"x" * 3_000_000)
    client.begin(client.pull_request("orders"))
    lab.world.run_until(lambda: lab.broker.stats.totals.out_messages == 1)
    lab.world.pause("client")
    assert "is not reading: 3.0 MB pending" in looks()


def test_the_verdict_names_a_client_as_the_page_does(lab, looks):
    client = lab.client()
    client.heartbeat("billing", {"orders": "*"})
    client.send("orders", b"x" * 3_000_000)
    client.begin(client.pull_request("orders", group="billing"))
    lab.world.run_until(lambda: lab.broker.stats.totals.out_messages == 1)
    lab.world.pause("client")
    assert "C1 10.0.0.3:" in looks()
