"""What the tests of recovery share: a store with numbered messages, and what must hold after a start."""

from __future__ import annotations

from engine.store.log.put_message_result import PutMessageStatus
from tests.engine.store.store_world import StoreWorld, small_config


def world_with(count: int, *, queues: int = 2, body_bytes: int = 40, **settings) -> StoreWorld:
    world = StoreWorld(small_config(**settings))
    world.start()
    for number in range(count):
        world.put(body_of(number, body_bytes), queue_id=number % queues, keys=f"k{number}", unique_key=f"U{number}")
    return world


def body_of(number: int, size: int = 40) -> bytes:
    return (b"message %d " % number).ljust(size, b"x")


def assert_holds(world: StoreWorld, numbers: list[int], queues: int = 2) -> None:
    """The store serves exactly these messages, by queue, by key, and at their places."""
    for queue_id in range(queues):
        mine = [number for number in numbers if number % queues == queue_id]
        messages = world.messages(queue_id=queue_id)
        assert [message.body.rstrip(b"x") for message in messages] == [b"message %d " % n for n in mine]
        assert [message.queue_offset for message in messages] == [number // queues for number in mine]
    for number in numbers:
        found = world.store.query_message("T", f"k{number}", 32, 0, 1 << 62)
        assert len(found.buffers) == 1, f"message {number} is not in the index"


def assert_goes_on(world: StoreWorld, queue_id: int = 0) -> None:
    """New messages are stored after the old ones, and survive a normal restart."""
    before = world.bodies(queue_id=queue_id)
    expected_offset = world.store.max_offset("T", queue_id)
    result = world.put(b"new", queue_id=queue_id)
    assert (result.status, result.queue_offset) == (PutMessageStatus.PUT_OK, expected_offset)
    assert world.bodies(queue_id=queue_id) == [*before, b"new"]
    world.shutdown()
    report = world.start_again()
    assert report.was_clean
    assert world.bodies(queue_id=queue_id) == [*before, b"new"]
