"""RocketMQ's Spring Boot starter sends, in transactions too, and consumes."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.interop.harness.clients import Clients

pytestmark = pytest.mark.interop_java


@pytest.mark.parametrize("version", ["2.2.2", "2.3.1"])
def test_an_application_sends_and_consumes(clients: Clients, unique: partial[str], version: str) -> None:
    topic = clients.cluster.create_topic(unique("Spring"), queues=4)
    output = clients.spring(version, unique("cg"), topic, 20).wait_for_success(180.0)
    [report] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert report == {
        "sent": 20,
        "answered": True,
        "transactions": "ROLLBACK_MESSAGE COMMIT_MESSAGE",
        "arrived": True,
        "rolled_back_arrived": False,
    }
