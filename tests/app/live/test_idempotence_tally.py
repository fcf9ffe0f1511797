"""The counters of idempotent listeners, added up: from hand-made answers, and from our own client over a connection."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from types import SimpleNamespace

import pytest

from app.live import idempotence_tally
from app.live.idempotence_tally import ASKED_MAX, COUNTERS, UNGUARDED_AGAIN_MS, IdempotenceTally, idempotence_view
from engine.idempotence.foundation.business_key import first_of_keys
from engine.idempotence.foundation.counters import IDEMPOTENCE_PROPERTY
from engine.idempotence.idempotent_listener import IdempotentListener
from engine.idempotence.strategies.tempting import MemorySet
from engine.protocol.enums import LanguageCode
from engine.remoting.errors import RemotingTimeout
from tests.app.live.test_client_internals import look_when
from tests.support.live.consumer_thread import consumer_of_orders
from tests.support.live.live_server import LiveServer, message

BEGAN_MS = 1_800_000_000_000


class Client:
    """A member of "billing" that answers, by default, as one that started after the broker."""

    def __init__(self, client_id: str, language: LanguageCode = LanguageCode.PYTHON) -> None:
        self.client_id, self.language, self.channel = client_id, language, self
        self.counters: dict[str, int] | None = {"first": 0}
        self.strategy, self.started_ms, self.asked = "state-table", BEGAN_MS + 1, 0

    async def call(self, request, timeout_ms):
        self.asked += 1
        if self.counters is None:
            raise RemotingTimeout("silent")
        reported = json.dumps({"strategy": self.strategy, "expiryMs": 7, "counters": self.counters})
        properties = {IDEMPOTENCE_PROPERTY: reported, "PROP_CONSUMER_START_TIMESTAMP": str(self.started_ms)}
        return SimpleNamespace(code=0, body=json.dumps({"properties": properties}).encode())


class Broker:
    """As much of one as the tally looks at."""

    def __init__(self, *clients: Client) -> None:
        self.clients, self.now_ms = list(clients), BEGAN_MS
        self.runtime = SimpleNamespace(clock=SimpleNamespace(now_ms=lambda: self.now_ms))
        self.tally = IdempotenceTally(self)  # type: ignore[arg-type]

    @property
    def consumer_manager(self):
        return [SimpleNamespace(group_name="billing", channel_info_table=dict(enumerate(self.clients)))]

    def ask(self) -> dict[str, int]:
        """A round; what is counted then, without what is 0."""
        self.now_ms += 10_000
        asyncio.run(self.tally.ask())
        counters = self.tally.view().get("billing", {}).get("counters", {})
        return {name: count for name, count in counters.items() if count}


def test_totals_add_up_over_members_and_stay_when_one_ends():
    one, two = Client("1"), Client("2")
    broker = Broker(one, two)
    one.counters, two.counters = {"first": 2, "swallowed": 1}, {"first": 3}
    assert broker.ask() == {"first": 5, "swallowed": 1}
    one.counters = {"first": 4, "swallowed": 1, "different_bodies": 1}
    assert broker.ask() == {"first": 7, "swallowed": 1, "different_bodies": 1}
    assert broker.tally.view()["billing"]["members"] == {"state-table": 2}
    broker.clients.remove(one)
    assert broker.ask() == {"first": 7, "swallowed": 1, "different_bodies": 1}
    broker.clients.append(one)
    assert broker.ask()["first"] == 7, "it was away, and is the same process"
    one.counters = {"first": 1}
    assert broker.ask()["first"] == 8, "another process has its name"


def test_what_was_counted_before_the_broker_began_is_left_out():
    old = Client("1")
    old.started_ms, old.counters = BEGAN_MS - 1, {"first": 100}
    broker = Broker(old)
    assert broker.ask() == {}
    old.counters = {"first": 103}
    assert broker.ask() == {"first": 3}


def test_an_answer_that_does_not_come_leaves_the_last_one_with_its_age():
    client = Client("1")
    broker = Broker(client)
    client.counters = {"first": 2}
    broker.ask()
    client.counters = None
    assert broker.ask() == {"first": 2}
    assert broker.tally.view()["billing"]["age_ms"] == 10_000


def test_other_clients_are_not_asked_and_who_guards_nothing_seldom():
    java, plain = Client("java", LanguageCode.JAVA), Client("plain")
    plain.counters = None
    broker = Broker(java, plain)
    for _ in range(5):
        broker.ask()
    assert (java.asked, plain.asked) == (0, 1)
    broker.now_ms += UNGUARDED_AGAIN_MS
    broker.ask()
    assert plain.asked == 2


def test_a_round_asks_a_bounded_number_and_all_get_their_turn():
    clients = [Client(str(number)) for number in range(2 * ASKED_MAX)]
    broker = Broker(*clients)
    broker.ask()
    assert sum(client.asked for client in clients) == ASKED_MAX
    broker.ask()
    assert {client.asked for client in clients} == {1}


def test_a_strategy_that_does_not_exist_makes_no_label_of_its_own():
    client = Client("1")
    client.strategy = "x" * 1_000
    broker = Broker(client)
    broker.ask()
    assert broker.tally.view()["billing"]["members"] == {"other": 1}


@pytest.mark.parametrize("text", [None, 7, "", "[]", "{", '{"counters":7}', '{"counters":{"first":-1,"x":1}}', '"' * 9])
def test_an_answer_that_makes_no_sense_counts_nothing(text):
    view = idempotence_view({} if text is None else {IDEMPOTENCE_PROPERTY: text})
    assert view is None or view["counters"] == dict.fromkeys(COUNTERS, 0)


def test_our_own_client_tells_of_its_listener_on_the_page_and_at_metrics(tmp_path, monkeypatch):
    monkeypatch.setattr(idempotence_tally, "ASK_EVERY_S", 0.05)

    async def guard_of(member):
        return IdempotentListener(member.runtime, work, MemorySet(), "billing", first_of_keys, checks_body=False)

    async def work(delivered, transaction):
        pass

    with LiveServer(tmp_path / "data") as live:
        live.create_topic("orders", 1)
        live.send(*[message("orders", keys=key) for key in ("a", "b", "a")])
        with consumer_of_orders(live, None, guard_of=guard_of):
            look = look_when(live, lambda look: look["members"] and reported_of(look)["counters"]["swallowed"] == 1)
            guard = reported_of(look)
            assert (guard["strategy"], guard["key"], guard["scope"]) == ("memory-set", "keys", "billing")
            assert guard["counters"]["first"] == 2
            wanted = 'glassmq_idempotence_deliveries_total{group="billing",verdict="swallowed"} 1'
            look_when(live, lambda _: wanted in metrics_of(live))
            assert 'glassmq_idempotence_members{group="billing",strategy="memory-set"} 1' in metrics_of(live)


def reported_of(look):
    return look["members"][0].get("idempotence") or {"counters": {"swallowed": None}}


def metrics_of(live):
    with urllib.request.urlopen(f"http://{live.server.page_address}/metrics") as page:
        return page.read().decode()
