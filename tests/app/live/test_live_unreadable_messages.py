"""Messages that nobody can decompress, in a live broker: the tools show them, and consume goes past them."""

from __future__ import annotations

import zlib

import lz4.frame
import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.message.message_properties import decode_properties
from engine.protocol.system_flags import COMPRESSION_LZ4, MESSAGE_COMPRESSED
from engine.store.log.store_message import StoreMessage
from engine.store.queues.dispatch_request import dispatched_fields
from tests.support.live.live_server import LiveServer

LZ4 = MESSAGE_COMPRESSED | COMPRESSION_LZ4


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("data"), broker=BrokerConfig(port=0)) as live:
        yield live


def _store(live, *messages):
    thread, _ = live.host._engine()
    broker = live.host._machines.broker

    async def put():
        for number, (sys_flag, body) in enumerate(messages):
            properties = f"KEYS\x01k-{number}"
            hosts = "10.0.0.9:1", broker.address
            tags_code, keys, unique_key = dispatched_fields(decode_properties(properties))
            assert broker.store.put_message(
                StoreMessage("raw", 0, body, properties, 1, *hosts, 0, sys_flag, tags_code, keys, unique_key)
            ).is_ok

    thread.run(broker.topic_config_manager.update_topic_config(TopicConfig("raw", 1, 1)), timeout_s=10)
    thread.run(put(), timeout_s=10)


@pytest.mark.parametrize("how", [(), ("--orderly",)])
def test_consume_goes_past_them_and_the_tools_show_them(live, how):
    if not how:
        broken = [(LZ4, b"no frame of LZ4"), (MESSAGE_COMPRESSED, zlib.compress(b"x" * 99)[:-1])]
        _store(live, broken[0], (LZ4, lz4.frame.compress(b"fine lz4")), broken[1], (0, b"plain"))
    group = f"readers{len(how)}"
    done = live.tool("consume", "raw", "--group", group, "--count", "2", *how)
    assert [line.split("  ")[-1] for line in done.output.splitlines() if line.startswith("queue")] == [
        "fine lz4",
        "plain",
    ]
    for key, why in (("k-0", "cannot be read: the compressed body cannot be read (LZ4)"), ("k-2", "ends too early")):
        for command in (("message", "--key", key, "--topic", "raw"), ("dead-letters", "show", group, key)):
            shown = live.tool(*command)
            assert shown.exit_code == 0, shown.output
            assert why in shown.output
            assert "as stored" in shown.output
