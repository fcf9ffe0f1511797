"""Progress of broadcasting members when its file cannot be written, with the lab's disk and a real one."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import ConsumeOrderlyStatus, DefaultMQPushConsumer, Message, MessageModel, MessageQueue
from engine.client.consumer.consumer_running_info import OFFSETS_FILE_PROPERTY
from engine.client.queues.local_file_offset_store import LocalFileOffsetStore
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.live.live_runtime import LiveRuntime
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.client.push_consumer_world import FROM_FIRST, SUCCESS, Heard
from tests.support.lab.lab_cluster import LabCluster

QUEUE, OTHER = MessageQueue("T", "broker-a", 0), MessageQueue("T", "broker-a", 1)
SMALL_FILES = MessageStoreConfig(
    mapped_file_size_commit_log=1 << 10,
    mapped_file_size_consume_queue_entries=10,
    max_message_size=500,
    file_reserved_time_hours=1,
    delete_when="23",
)


def set_disk_full(world: LabMachines, node: str, *, full: bool) -> None:
    storage = world.storages[node]
    storage.occupied_bytes = storage.capacity_bytes if full else 0


def store_of(world: LabMachines) -> LocalFileOffsetStore:
    return LocalFileOffsetStore(world.node("C").disk, "10.0.0.9@DEFAULT", "g")


def note(world: LabMachines, store: LocalFileOffsetStore, queue: MessageQueue, offset: int) -> None:
    store.update_offset(queue, offset, increase_only=False)
    world.run(store.persist(queue), node="C")


def broadcaster(cluster: LabCluster, heard: Heard, *, orderly: bool = False) -> DefaultMQPushConsumer:
    consumer = cluster.push_consumer("C", "g", consume_from_where=FROM_FIRST, message_model=MessageModel.BROADCASTING)
    consumer.subscribe("T")
    register = consumer.register_message_listener_orderly if orderly else consumer.register_message_listener
    register(heard)
    cluster.start(consumer)
    return consumer


@pytest.mark.parametrize("orderly", [False, True])
def test_a_position_before_the_brokers_minimum_is_left_although_the_file_cannot_be_written(orderly: bool):
    with LabCluster(store_config=SMALL_FILES) as cluster:
        producer = cluster.producer("P", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T", queue_nums=1))

        async def send(count: int) -> None:
            for _ in range(count):
                await producer.send(Message("T", b"x" * 200))

        cluster.run(producer, send(60))
        heard = Heard(cluster, lambda message: ConsumeOrderlyStatus.SUCCESS if orderly else SUCCESS)
        old = broadcaster(cluster, heard, orderly=orderly)
        note(cluster.world, old.offset_store, QUEUE, 3)  # type: ignore[arg-type]
        cluster.world.crash("C")
        heard.messages.clear()
        cluster.world.run_for(2 * 3_600_000)
        cluster.run(producer, send(1))
        store = cluster.broker.store
        store.delete_expired_commit_log()
        assert store.min_offset("T", 0) > 40

        cluster.world.restart("C")
        set_disk_full(cluster.world, "C", full=True)
        broadcaster(cluster, heard, orderly=orderly)
        cluster.world.run_for(15_000)
        offsets = [message.queue_offset for message in heard.messages]
        assert offsets == list(range(store.min_offset("T", 0), 61))
        cluster.run(producer, send(3))
        cluster.world.run_for(60_000)
        assert [message.queue_offset for message in heard.messages] == [*offsets, 61, 62, 63]


def test_a_queue_that_is_taken_over_again_goes_on_although_the_file_cannot_be_written(cluster, producer):
    heard = Heard(cluster)
    consumer = broadcaster(cluster, heard)
    set_disk_full(cluster.world, "C", full=True)

    async def send(*bodies: bytes) -> None:
        for body in bodies:
            await producer.send(Message("T", body))

    cluster.run(producer, send(b"1", b"2"))
    cluster.world.run_for(1_000)
    cluster.run(consumer, consumer.force_unlock(QUEUE))
    cluster.run(producer, send(b"3"))
    cluster.world.run_for(1_000)
    assert heard.bodies == ["1", "2", "3"]


def test_a_failure_is_logged_once_shown_and_over_when_the_file_can_be_written(cluster, producer, caplog):
    caplog.set_level(logging.INFO, "glassmq.client")
    consumer = broadcaster(cluster, Heard(cluster))
    cluster.world.run_for(30_000)
    shown = consumer._impl.reported[OFFSETS_FILE_PROPERTY]
    assert shown() == "written"
    set_disk_full(cluster.world, "C", full=True)
    cluster.world.run_for(60_000)
    assert "the disk is full" in shown()
    set_disk_full(cluster.world, "C", full=False)
    cluster.world.run_for(6_000)
    assert shown() == "written"
    logged = [(record.levelname, record.message) for record in caplog.records if "local offsets" in record.message]
    assert [level for level, _ in logged] == ["WARNING", "INFO"]
    assert "cannot be written" in logged[0][1] and "written again" in logged[1][1]


def test_what_was_noted_while_the_file_failed_is_written_later():
    with LabMachines() as world:
        store = store_of(world)
        set_disk_full(world, "C", full=True)
        note(world, store, QUEUE, 5)
        store.remove_offset(QUEUE)
        set_disk_full(world, "C", full=False)
        world.run(store.persist_all([]), node="C")
        again = store_of(world)
        world.run(again.load(), node="C")
        assert again.offset_in_memory(QUEUE) == 5


def test_a_queue_between_two_owners_stays_in_the_file():
    with LabMachines() as world:
        store = store_of(world)
        note(world, store, QUEUE, 5)
        note(world, store, OTHER, 7)
        store.remove_offset(QUEUE)
        world.run(store.persist_all([OTHER]), node="C")
        again = store_of(world)
        world.run(again.load(), node="C")
        assert again.offsets() == {QUEUE: 5, OTHER: 7}


def test_a_failed_write_leaves_the_good_backup_of_a_broken_file():
    with LabMachines() as world:
        store = store_of(world)
        for offset in (5, 6):
            note(world, store, QUEUE, offset)
        disk = world.node("C").disk
        disk.write_whole(store.path, b"{")
        again = store_of(world)
        world.run(again.load(), node="C")

        class NoRoomForTheFile:
            def __getattr__(self, name: str) -> object:
                return getattr(disk, name)

            def write_whole(self, path: str, data: bytes) -> None:
                set_disk_full(world, "C", full=path == again.path)
                disk.write_whole(path, data)

        again._disk = NoRoomForTheFile()  # type: ignore[assignment]
        note(world, again, QUEUE, 9)
        set_disk_full(world, "C", full=False)
        last = store_of(world)
        world.run(last.load(), node="C")
        assert last.offset_in_memory(QUEUE) == 5


def test_a_real_folder_that_cannot_be_made_costs_nothing_until_the_next_start(tmp_path: Path):
    async def program() -> None:
        runtime = LiveRuntime("C", tmp_path)
        store = LocalFileOffsetStore(runtime.disk, "10.0.0.9@DEFAULT", "g")
        blocker = tmp_path / "10.0.0.9@DEFAULT"
        blocker.write_text("in the way")
        await store.load()
        store.update_offset(QUEUE, 4, increase_only=False)
        await store.persist(QUEUE)
        assert store.failure is not None
        store.remove_offset(QUEUE)
        assert await store.read_offset_from_store(QUEUE) == 4
        blocker.unlink()
        await store.persist_all([])
        assert store.failure is None
        again = LocalFileOffsetStore(runtime.disk, "10.0.0.9@DEFAULT", "g")
        await again.load()
        assert again.offset_in_memory(QUEUE) == 4
        await runtime.close()

    asyncio.run(program())


STEPS = st.one_of(
    st.tuples(st.just("note"), st.sampled_from((QUEUE, OTHER)), st.integers(0, 99)),
    st.tuples(st.sampled_from(("persist", "give up")), st.sampled_from((QUEUE, OTHER))),
    st.sampled_from((("persist all",), ("full",), ("room",), ("restart",))),
)


@given(steps=st.lists(STEPS, max_size=20))
def test_a_running_member_knows_all_it_has_kept_and_the_next_one_what_could_be_written(steps: list[tuple]):
    with LabMachines() as world:
        store = store_of(world)
        noted: dict[MessageQueue, int] = {}
        kept: dict[MessageQueue, int] = {}
        written: dict[MessageQueue, int] = {}
        is_full = False
        for name, *arguments in steps:
            if name == "note":
                queue, offset = arguments
                store.update_offset(queue, offset, increase_only=False)
                noted[queue] = offset
            elif name in ("full", "room"):
                is_full = name == "full"
                set_disk_full(world, "C", full=is_full)
            elif name == "restart":
                store = store_of(world)
                world.run(store.load(), node="C")
                noted, kept = dict(written), dict(written)
            else:
                queues = arguments or list(noted)
                kept |= {queue: noted[queue] for queue in queues if queue in noted}
                if name == "persist all":
                    world.run(store.persist_all(queues), node="C")
                else:
                    world.run(store.persist(queues[0]), node="C")
                if name == "give up":
                    store.remove_offset(queues[0])
                    noted.pop(queues[0], None)
                if not is_full:
                    written = dict(kept)
            assert store.offsets() == noted
        for queue in (QUEUE, OTHER):
            assert world.run(store.read_offset_from_store(queue), node="C") == kept.get(queue)
