"""``kill -9`` under load: what a broker has acknowledged is there again after the restart, or its loss is explained.

A process that is killed leaves its mapped pages to the kernel, so a killed *process* loses nothing even with
asynchronous flush; only a machine that loses power does. Tests of the simulated disk (tests/engine/store) take that
power away; here real processes die at real moments.
"""

import asyncio
import json
import random

import pytest

from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.message.message import Message
from engine.protocol.message.message_id import decode_offset_message_id
from tests.support.live.glass_process import GlassProcess
from tests.support.pipeline.stored_log import commit_everything, read_all_bodies, stored_offsets

#: The number of kills under synchronous flush, and two fifths of it under asynchronous.
pytestmark = pytest.mark.seeds(quick=3, full=10)

TOPIC = "kill_nine"
SENDERS = 8


class Load:
    """Sends numbered messages until its broker dies; remembers what was acknowledged and what has no answer."""

    def __init__(self, round_number):
        self.round_number = round_number
        self.acknowledged = {}  # body -> SendResult
        self.unanswered = []
        self._enough = asyncio.Event()

    async def run(self, server, acknowledgements):
        """Kill ``server`` once this many messages are acknowledged, in the middle of everything."""
        self.wanted = acknowledgements
        async with DefaultMQProducer(
            None, "killers", (server.name_server,), retry_times_when_send_failed=0, send_msg_timeout_ms=60_000
        ) as producer:
            senders = [asyncio.create_task(self._send(producer, sender)) for sender in range(SENDERS)]
            await self._enough.wait()
            await asyncio.to_thread(server.kill)
            await asyncio.gather(*senders)

    async def _send(self, producer, sender):
        for number in range(100_000):
            body = f"{self.round_number}/{sender}/{number}/" + "x" * (number % 700)
            try:
                result = await producer.send(Message(TOPIC, body.encode(), keys=body[:30]))
            except MQClientError:
                self.unanswered.append(body)
                return
            self.acknowledged[body] = result
            if len(self.acknowledged) >= self.wanted:
                self._enough.set()


async def recovered_bodies(server):
    """Every message of the topic, body -> (queue id, queue offset), read over the wire."""
    return await read_all_bodies((server.name_server,), TOPIC)


@pytest.mark.parametrize("flush", ["sync", "async"])
def test_no_acknowledged_message_is_lost_when_the_process_is_killed(tmp_path, flush, seeds):
    rounds = seeds if flush == "sync" else seeds * 2 // 5
    moments = random.Random(9)
    acknowledged, unanswered, sent_twice = {}, [], 0
    for round_number in range(rounds):
        load = Load(round_number)
        with GlassProcess(tmp_path / "data", "--flush", flush) as server:
            asyncio.run(load.run(server, moments.randrange(50, 400)))
        acknowledged.update(load.acknowledged)
        unanswered += load.unanswered
        with GlassProcess(tmp_path / "data", "--flush", flush) as server:
            found = asyncio.run(recovered_bodies(server))
            lost = [body for body in acknowledged if body not in found]
            assert lost == [], f"round {round_number}: {len(lost)} of {len(acknowledged)} acknowledged messages lost"
            for body, result in load.acknowledged.items():
                # The offset that the producer received is still the message's offset.
                assert (result.message_queue.queue_id, result.queue_offset) in found[body]
            server.kill()
        # Said, not only done: what happened, and what a harder crash would have cost.
        assert "the last run did not shut down" in server.errors
        assert "a crash of the machine loses what was not flushed" in server.errors
        sent_twice += sum(len(places) - 1 for places in found.values())
    assert sent_twice == 0  # nothing was retried, so nothing may be there twice
    extra = set(found) - set(acknowledged)
    assert extra <= set(unanswered)  # what nobody acknowledged may be there, but only if it was sent


def test_offsets_that_were_written_survive_a_kill(tmp_path):
    with GlassProcess(tmp_path / "data", "--broker-setting", "flushConsumerOffsetInterval=50") as server:
        asyncio.run(send_some(server, 40))
        confirmed = asyncio.run(commit_everything((server.name_server,), TOPIC, "survivors"))
        asyncio.run(wait_until_written(tmp_path, confirmed))
        server.kill()
    with GlassProcess(tmp_path / "data") as server:
        assert asyncio.run(stored_offsets((server.name_server,), TOPIC, "survivors")) == confirmed


def test_messages_that_a_dead_machine_took_along_are_counted_and_explained(tmp_path):
    """Asynchronous flush and a power failure: here the end of the log is erased by hand after the kill."""
    with GlassProcess(tmp_path / "data", "--broker-setting", "flushConsumerOffsetInterval=50") as server:
        results = asyncio.run(send_some(server, 20))
        confirmed = asyncio.run(commit_everything((server.name_server,), TOPIC, "survivors"))
        asyncio.run(wait_until_written(tmp_path, confirmed))
        server.kill()
    cut = decode_offset_message_id(results[12].offset_message_id)[1]
    log = tmp_path / "data" / "commitlog" / "00000000000000000000"
    with log.open("r+b") as file:
        end = file.seek(0, 2)
        file.seek(cut)
        file.write(bytes(end - cut))
    with GlassProcess(tmp_path / "data") as server:
        found = asyncio.run(recovered_bodies(server))
        offsets = asyncio.run(stored_offsets((server.name_server,), TOPIC, "survivors"))
        server.stop()
        explained = [line for line in server.stderr if "recovery:" in line]
    assert sorted(map(int, found)) == list(range(12))
    assert any(" 8 entries" in line for line in explained), explained
    # The group confirmed messages that no longer exist; its offsets went back with the queues.
    assert sum(offsets.values()) == 12 < sum(confirmed.values())


async def send_some(server, count):
    async with DefaultMQProducer(None, "killers", (server.name_server,)) as producer:
        return [await producer.send(Message(TOPIC, str(number).encode())) for number in range(count)]


async def wait_until_written(tmp_path, confirmed):
    """Until the file holds all of ``confirmed``: queues are confirmed one by one, and a write may fall between."""
    file = tmp_path / "data" / "config" / "consumerOffset.json"
    wanted = {str(queue_id): offset for queue_id, offset in confirmed.items()}
    async with asyncio.timeout(120):
        while not file.exists() or json.loads(file.read_text())["offsetTable"].get(f"{TOPIC}@survivors") != wanted:
            await asyncio.sleep(0.02)
