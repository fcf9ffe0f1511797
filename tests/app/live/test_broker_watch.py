"""All brokers of the name servers, as a page shows them next to each other: what each reports, and which are silent."""

from __future__ import annotations

import contextlib

import pytest

from app.live import broker_watch
from app.picture.live.brokers import BrokersReport
from app.remote.own_broker import OwnBroker
from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.processors.broker_admin_processor import BrokerAdminProcessor
from engine.replication.ha.ha_config import HaRole
from tests.support.live.consumer_thread import consumer_of_orders
from tests.support.live.live_server import LiveServer, message
from tests.support.picture.schema_problems import schema_problems
from tests.support.waiting import wait_until


@pytest.fixture(autouse=True)
def rounds_without_pauses(monkeypatch):
    monkeypatch.setattr(broker_watch, "AGAIN_US", 0)
    monkeypatch.setattr(broker_watch, "ANSWER_TIMEOUT_MS", 300)


@contextlib.contextmanager
def two_brokers(folder, **settings):
    """Two masters of one name server; the page of the first shows both."""
    with LiveServer(folder / "first") as first:
        other = BrokerConfig(broker_name="broker-b", port=0, **settings)
        with LiveServer(folder / "second", broker=other, also_register=first.name_servers, allow_faults=True) as second:
            yield first, second


def report_of(server):
    status, report = server.get("/api/live/brokers")
    assert status == 200
    return report


def brokers_when(server, condition):
    """Return the brokers by address, once ``condition`` holds for them."""

    def those_that_fit():
        brokers = {one["address"]: one for one in report_of(server)["brokers"]}
        with contextlib.suppress(KeyError, TypeError):
            return brokers if condition(brokers) else None

    return wait_until(those_that_fit, "the brokers that the test needs", seen=lambda: report_of(server))


def other_when(server, other, state):
    """Return the report of another broker, once it is in that state."""
    address = other.host.broker_address
    return brokers_when(server, lambda brokers: brokers[address]["state"] == state)[address]


def test_each_broker_reports_its_own_queues_messages_and_lag(tmp_path):
    with two_brokers(tmp_path) as (first, second):
        for server in (first, second):
            server.create_topic("orders", 2)
        first.send(*(message("orders", f"message {number}") for number in range(8)))
        addresses = [server.host.broker_address for server in (first, second)]
        with consumer_of_orders(first, lambda messages, context: None):
            brokers = brokers_when(
                first,
                lambda seen: all(
                    seen[address]["facts"]["topics"]["orders"]["messages"] == 4
                    and seen[address]["facts"]["groups"] == {"billing": 0}
                    and seen[address]["facts"]["clients"] == 1
                    and seen[address]["facts"]["held_pulls"] > 0
                    for address in addresses
                ),
            )
        assert list(schema_problems(report_of(first), BrokersReport)) == []
        own, other = (brokers[address] for address in addresses)
        assert (own["is_own"], other["is_own"]) == (True, False)
        assert (other["name"], other["id"], other["why"]) == ("broker-b", 0, None)
        assert other["page"] == f"http://{second.server.page_address}"
        for facts in (own["facts"], other["facts"]):
            assert (facts["role"], facts["version"], facts["is_glassmq"]) == ("ASYNC_MASTER", "V4_9_8", True)
            queues = [{"queue_id": number, "min": 0, "max": 2} for number in range(2)]
            assert facts["topics"] == {"orders": {"messages": 4, "queues": queues, "omitted_queues": 0}}
            assert facts["messages"] == 4
            assert facts["commit_log"]["max"] > facts["commit_log"]["min"] == 0


def test_a_pair_is_listed_from_either_side_with_what_the_slave_has_confirmed(tmp_path):
    with LiveServer(tmp_path / "master", broker=BrokerConfig(port=0, ha_listen_port=0)) as master:
        slave_config = BrokerConfig(port=0, broker_role=HaRole.SLAVE, broker_id=1)
        with LiveServer(tmp_path / "slave", broker=slave_config, slave_of=master.host.broker_address) as slave:
            master.send(*(message("orders", f"message {number}") for number in range(8)))
            addresses = [server.host.broker_address for server in (master, slave)]

            def is_copied(seen):
                leading, following = (seen[address]["facts"] for address in addresses)
                confirmed = min(leading["replicas"].values())
                return leading["commit_log"]["max"] == following["commit_log"]["max"] == confirmed > 0

            for server in (master, slave):
                brokers = brokers_when(server, is_copied)
                assert [(one["name"], one["id"]) for one in brokers.values()] == [("broker-a", 0), ("broker-a", 1)]
                assert brokers[addresses[0]]["facts"]["role"] == "ASYNC_MASTER"
                assert brokers[addresses[1]]["facts"]["role"] == "SLAVE"
                assert brokers[addresses[1]]["facts"]["following"] == "follows"
                assert brokers[addresses[1]]["facts"]["replicas"] == {}


def test_a_paused_broker_is_silent_keeps_its_last_figures_and_answers_again(tmp_path):
    with two_brokers(tmp_path) as (first, second):
        before = other_when(first, second, "answers")
        second.break_it("pause", "broker-b", ms=30_000)
        silent = other_when(first, second, "silent")
        assert silent["why"] == {"en": "the request timed out", "zh": "请求超时"}
        assert silent["since_us"] >= before["since_us"]
        assert silent["facts"]["started_us"] == before["facts"]["started_us"]
        assert other_when(first, second, "silent")["since_us"] == silent["since_us"]
        second.host._thread.resume()
        assert other_when(first, second, "answers")["why"] is None


def test_a_killed_broker_stays_in_the_list_as_one_that_no_name_server_knows(tmp_path):
    with two_brokers(tmp_path) as (first, second):
        other_when(first, second, "answers")
        second.break_it("crash", "broker-b")
        assert other_when(first, second, "unregistered")["facts"] is not None
        second.break_it("restart", "broker-b")
        other_when(first, second, "answers")


def test_a_broker_with_access_rules_refuses_and_the_reason_says_what_helps(tmp_path):
    rules = tmp_path / "second" / "config" / "plain_acl.yml"
    rules.parent.mkdir(parents=True)
    rules.write_text("accounts:\n- accessKey: operator\n  secretKey: 12345678\n  admin: true\n", encoding="utf-8")
    with two_brokers(tmp_path, acl_enable=True) as (first, second):
        why = other_when(first, second, "refuses")["why"]
        assert all("globalWhiteRemoteAddresses" in why[language] for language in ("en", "zh"))
        # Its own page asks without a connection: who may open it is its operator.
        other_when(second, second, "answers")


@pytest.mark.parametrize(("reported", "shown"), [("https://b.example:8443/b", True), ("javascript:alert(1)", False)])
def test_the_page_of_another_broker_is_a_link_to_a_web_page_only(tmp_path, reported, shown):
    with two_brokers(tmp_path, page_address=reported) as (first, second):
        assert other_when(first, second, "answers")["page"] == (reported if shown else None)


def test_a_name_server_that_does_not_answer_is_named_and_its_brokers_are_still_asked(tmp_path):
    with LiveServer(tmp_path, allow_faults=True) as server:
        other_when(server, server, "answers")
        server.break_it("crash", "name-server")
        report = wait_until(
            lambda: next((one for one in [report_of(server)] if any(one["name_servers"].values())), None), "it"
        )
        assert list(report["name_servers"]) == list(server.name_servers)
        assert list(schema_problems(report, BrokersReport)) == []
        other_when(server, server, "answers")


def test_pages_that_ask_together_share_the_requests(tmp_path, monkeypatch):
    monkeypatch.setattr(broker_watch, "AGAIN_US", 3_600_000_000)
    asked = []
    table = BrokerAdminProcessor.runtime_info

    def counted(self):
        asked.append(self)
        return table(self)

    monkeypatch.setattr(BrokerAdminProcessor, "runtime_info", counted)
    with LiveServer(tmp_path) as server:
        for _ in range(5):
            other_when(server, server, "answers")
        assert len(asked) == 1


def test_the_queues_of_the_own_broker_come_from_its_store(tmp_path, monkeypatch):
    asked = []
    read = OwnBroker.topic_queues

    async def noted(self, topic):
        asked.append(topic)
        return await read(self, topic)

    monkeypatch.setattr(OwnBroker, "topic_queues", noted)
    with LiveServer(tmp_path) as server:
        server.create_topic("orders", 1)
        address = server.host.broker_address
        brokers_when(server, lambda seen: "orders" in seen[address]["facts"]["topics"])
    assert "orders" in asked


def test_more_brokers_topics_and_groups_than_a_page_shows_are_counted(tmp_path, monkeypatch):
    with two_brokers(tmp_path) as (first, second):
        other_when(first, second, "answers")
        for name in ("BROKERS_MAX", "TOPICS_MAX", "GROUPS_MAX"):
            monkeypatch.setattr(broker_watch, name, 1)
        for topic in ("orders", "payments", "%RETRY%billing", "%RETRY%ledger"):
            first.create_topic(topic, 1)
        report = wait_until(
            lambda: next((one for one in [report_of(first)] if one["omitted_groups"] and one["omitted_brokers"]), None),
            "all",
        )
        assert [report[f"omitted_{name}"] for name in ("brokers", "topics", "groups")] == [1, 1, 1]
        (shown,) = report["brokers"]
        assert list(shown["facts"]["topics"]) == ["orders"]
