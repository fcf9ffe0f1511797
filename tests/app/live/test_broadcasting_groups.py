"""A group that broadcasts, as every view of the live broker shows it."""

from __future__ import annotations

import asyncio
from urllib.request import urlopen

from app.watch.facts import facts_of
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.protocol.enums import MessageModel
from tests.support.live.healthy_facts import HEALTHY
from tests.support.live.live_server import LiveServer, message


def test_a_group_that_broadcasts_has_no_lag_anywhere_also_while_it_is_offline_and_after_a_restart(tmp_path):
    def without_lag(live):
        """Page, plot, verdict, metrics and command say the same."""
        state = live.host.state()
        group = state["groups"]["screens"]
        assert (group["message_model"], group["lag"], state["rates"]["backlog"]) == ("BROADCASTING", None, 0)
        assert not any("screens" in queue["committed"] for queue in state["topics"]["news"]["queues"].values())
        assert "screens" not in facts_of({**HEALTHY, "topics": state["topics"], "groups": state["groups"]}).groups
        with urlopen(f"http://{live.server.page_address}/metrics", timeout=10) as page:
            assert b'rocketmq_group_diff{group="screens"' not in page.read()
        rows = [line.split() for line in live.tool("groups").output.splitlines()]
        assert ["screens", "4", "-"] in rows
        assert [row[-1] for row in map(str.split, live.tool("groups", "screens").output.splitlines()[1:])] == ["-"] * 4

    async def broadcast(live):
        consumer = DefaultMQPushConsumer(None, "screens", live.name_servers, message_model=MessageModel.BROADCASTING)
        consumer.subscribe("news", "*")

        async def listen(messages, context):
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer.register_message_listener(listen)
        await consumer.start()
        await asyncio.to_thread(
            live.state_when, lambda state: state["groups"]["screens"]["message_model"] == "BROADCASTING"
        )
        await asyncio.to_thread(without_lag, live)
        await consumer.shutdown()

    with LiveServer(tmp_path / "data") as live:
        live.send(*[message("news", "x") for _ in range(8)])
        # From a time when the group shared its queues out; or a tool stored them.
        manager, (thread, _) = live.host._machines.broker.consumer_offset_manager, live.host._engine()
        for queue_id in range(4):
            thread.call(lambda at=queue_id: manager.commit_offset("", "screens", "news", at, 0))
        asyncio.run(broadcast(live))
        assert live.host.state()["groups"]["screens"]["members"] == {}
        without_lag(live)
    with LiveServer(tmp_path / "data") as live:
        without_lag(live)
