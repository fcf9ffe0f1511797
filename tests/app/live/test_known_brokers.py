"""The brokers of a name server, as a page lists them: which answer, and where their pages are."""

from __future__ import annotations

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from tests.support.live.live_server import LiveServer


def listed(server):
    status, answer = server.get("/api/live/brokers")
    assert status == 200
    return {one["name"]: one for one in answer["brokers"]}


@pytest.mark.parametrize(
    ("reported", "page"),
    [
        ("", "its own"),
        ("https://brokers.example:8443/b", "https://brokers.example:8443/b"),
        ("javascript:alert(1)", None),
    ],
)
def test_another_broker_is_listed_with_the_page_that_it_reports_until_it_does_not_answer(tmp_path, reported, page):
    with LiveServer(tmp_path / "first") as first:
        other = BrokerConfig(broker_name="broker-b", port=0, page_address=reported)
        with LiveServer(tmp_path / "second", broker=other, also_register=first.name_servers) as second:
            brokers = listed(first)
            assert (brokers["broker-a"]["is_own"], brokers["broker-b"]["is_own"]) == (True, False)
            assert brokers["broker-b"] == {
                "name": "broker-b",
                "id": 0,
                "address": second.host.broker_address,
                "is_own": False,
                "is_alive": True,
                "page": f"http://{second.server.page_address}" if page == "its own" else page,
            }
            second.host.stop()
            # It left properly, so the name server knows it no more.
            assert list(listed(first)) == ["broker-a"]
