"""A random damage to any file of the data folder, after a kill and after a clean exit: the broker starts, serves every
message that was not damaged itself, never a changed body, says what is lost, and ends its work.

    GLASSMQ_SWEEP_SEEDS=500 make test TESTS=tests/engine/broker/test_damaged_data_folder.py
"""

from __future__ import annotations

import logging
import random

import pytest

from engine.broker.broker import Broker
from engine.protocol.message.message_codec import decode_messages
from engine.runtime.lab.lab_disk import LabDiskFile
from tests.engine.store.store_world import store_message
from tests.support.lab.damaged_folder import (
    NODE,
    QUEUES,
    DataFolder,
    Place,
    broker_on,
    damaged,
    data_folder,
    start_broker,
    untouched,
)

pytestmark = pytest.mark.seeds(quick=15, full=100)

#: A start reads the log, the queues and the index a few times over, a start on undamaged files 1.3 MB; the search for
#: entries reads parts of the log again.
READ_MAX_BYTES = 200 * 1024 * 1024
PULLS_MAX = 1_000


def served(broker: Broker) -> dict[Place, bytes]:
    """What a consumer gets who reads every queue from its beginning."""
    found: dict[Place, bytes] = {}
    store = broker.store
    for topic, queue_id in QUEUES:
        offset, pulls = store.min_offset(topic, queue_id), 0
        while offset < store.max_offset(topic, queue_id):
            result = store.get_message("G", topic, queue_id, offset, 32)
            for message in decode_messages(result.data, decompress=False):
                place = message.topic, message.queue_id, message.queue_offset
                assert place[:2] == (topic, queue_id), f"{place} came from {topic}/{queue_id}"
                assert place not in found, f"{place} came twice"
                found[place] = message.body
            offset = result.next_begin_offset
            pulls += 1
            assert pulls < PULLS_MAX, f"the reading of {topic}/{queue_id} does not end"
    return found


def judge(folder: DataFolder, broker: Broker, whole: list[Place], found: dict[Place, bytes]) -> None:
    missing = [place for place in whole if place not in found]
    assert not missing, f"{len(missing)} messages are whole but not served, as {missing[:3]}"
    for place, body in found.items():
        assert place in folder.messages, f"{place} was never put"
        assert body == folder.messages[place].body, f"{place} is served with another body"
    for topic in {topic for topic, _, _ in found}:
        assert topic in broker.topic_config_manager.topic_config_table, f"topic {topic} is forgotten"


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean exit", "killed"])
def test_no_damage_hides_what_it_did_not_touch(is_clean, seeds, caplog, monkeypatch):
    folder = data_folder(is_clean)
    read_at, read_bytes = LabDiskFile.read_at, [0]

    def counted(file: LabDiskFile, position: int, length: int) -> bytes:
        read_bytes[0] += length
        return read_at(file, position, length)

    monkeypatch.setattr(LabDiskFile, "read_at", counted)
    with broker_on(folder.files) as (_, broker):
        usual = {record.getMessage() for record in caplog.records}
        assert served(broker) == {place: stored.body for place, stored in folder.messages.items()}
    for seed in range(seeds):
        damage = damaged(folder, random.Random(f"{is_clean}:{seed}"))
        caplog.clear()
        read_bytes[0] = 0
        with caplog.at_level(logging.WARNING, "glassmq"):
            try:
                carry_out(folder, damage.files, usual, caplog)
                assert read_bytes[0] < READ_MAX_BYTES
            except Exception as error:
                raise AssertionError(f"seed {seed}, {'; '.join(damage.what)}: {error}") from error


def carry_out(folder: DataFolder, files: dict[str, bytes], usual: set[str], caplog: pytest.LogCaptureFixture) -> None:
    whole = untouched(folder, files)
    with broker_on(files) as (world, broker):
        found = served(broker)
        judge(folder, broker, whole, found)
        if len(found) < len(folder.messages):
            lines = [record.getMessage() for record in caplog.records]
            assert set(lines) - usual, "nothing is said of the loss"
        end = broker.store.max_offset("T", 0)
        assert broker.store.put_message(store_message(b"new", "T", 0)).queue_offset == end
        world.run_for(10)
        world.crash(NODE)
        world.restart(NODE)
        again = served(start_broker(world))
        assert again.pop(("T", 0, end)) == b"new"
        assert again == found, "the next start serves something else"
