"""Topics that are too many to be drawn: they are found by name, and their messages count."""

from __future__ import annotations

import pytest

from app.foundation.operator_requests import SendMessageRequest
from app.observation.bounds import TOPICS_FOUND_MAX, TOPICS_MAX
from engine.protocol.body.topic_config import TopicConfig
from tests.support.live.live_server import LiveServer
from tests.support.waiting import wait_until

COUNT = TOPICS_MAX + 90
LAST = f"t{COUNT - 1:04}"


@pytest.fixture
def live(tmp_path):
    with LiveServer(tmp_path / "data") as live:
        table = live.host._machines.broker.topic_config_manager.topic_config_table
        topics = {name: TopicConfig(name, 16, 16) for name in (f"t{number:04}" for number in range(COUNT))}
        live.host._engine()[0].call(lambda: table.update(topics))
        yield live


def topics_with(live, text):
    return live.host.ask(lambda live: live.state.topics.find(text))


def test_a_topic_that_is_left_out_is_found_by_a_part_of_its_name(live):
    assert LAST not in live.host.state()["topics"]
    assert topics_with(live, LAST.upper()) == {
        "topics": {LAST: {"kind": "normal", "queues": 16, "stored": 0}},
        "omitted": 0,
    }


def test_what_a_search_finds_is_bounded_and_the_rest_counted(live):
    found = topics_with(live, "t0")
    assert (len(found["topics"]), found["omitted"]) == (TOPICS_FOUND_MAX, COUNT - TOPICS_FOUND_MAX)


def test_messages_of_topics_that_are_left_out_count(live):
    live.host.ask(lambda live: live.operator.carry_out(SendMessageRequest(LAST, "hello")))
    wait_until(lambda: live.host.state()["omitted"]["messages"] == 1, f"the message in {LAST} to count")
    assert topics_with(live, LAST)["topics"][LAST]["stored"] == 1
