"""Units of a consume queue's extension: their bytes, and what a start makes of lost ones."""

import struct

import pytest

from engine.protocol.java_hash import java_string_hash
from engine.store.files.mapping_pool import MappingPool
from engine.store.queues.consume_queue_ext import MAX_ADDRESS, ConsumeQueueExt, ConsumeQueueExtUnit, is_ext_address
from tests.engine.store.store_world import StoreWorld, small_config

UNIT = ConsumeQueueExtUnit(2598919, 1_700_000_000_000, b"\x01\x00\x80")


@pytest.fixture
def world():
    world = StoreWorld(small_config(enable_consume_queue_ext=True, mapped_file_size_consume_queue_ext=4_096))
    world.start()
    return world


def new_ext(world: StoreWorld, file_size: int = 100) -> ConsumeQueueExt:
    return ConsumeQueueExt(world.disk, MappingPool(10), "X", 0, file_size)


def queue_of(world: StoreWorld):
    return next(queue for topic, _, queue in world.store.consume_queues() if topic == "T")


def test_a_unit_is_laid_out_as_in_rocketmq(world):
    ext = new_ext(world)
    address = ext.put(UNIT)
    assert address == -(2**63)
    assert ext.files.read(0, 23) == struct.pack(">hqqh", 23, UNIT.tags_code, UNIT.store_timestamp, 3) + UNIT.bit_map
    assert ext.get(address) == UNIT
    assert ext.put(UNIT) == address + 23


@pytest.mark.parametrize(
    ("tags_code", "is_address"), [(0, False), (-(2**31), False), (MAX_ADDRESS, True), (2**40, False)]
)
def test_tags_codes_and_times_are_no_addresses(tags_code, is_address):
    assert is_ext_address(tags_code) is is_address


def test_a_full_file_ends_with_a_mark_and_the_next_unit_opens_another(world):
    ext = new_ext(world)
    addresses = [ext.put(UNIT) + 2**63 for _ in range(6)]
    assert addresses == [0, 23, 46, 69, 100, 123]
    assert ext.files.read(92, 2) == b"\xff\xff"
    assert [ext.get(address - 2**63) for address in addresses] == [UNIT] * 6
    again = new_ext(world)
    again.load()
    assert again.end_offset == ext.end_offset


def test_an_address_without_a_unit_finds_nothing(world):
    ext = new_ext(world)
    first = ext.put(UNIT)
    for address in (first + 1, first + 23, 5, -1):
        assert ext.get(address) is None


def test_units_begin_anew_behind_a_hole(world):
    ext = new_ext(world)
    for _ in range(3):
        ext.put(UNIT)
    ext.files.write(23, bytes(23))
    again = new_ext(world)
    again.load()
    assert again.put(UNIT) + 2**63 == 100
    assert again.get(46 - 2**63) == UNIT


def test_units_begin_anew_behind_an_address_in_use(world):
    ext = new_ext(world)
    ext.continue_behind(250 - 2**63)
    assert ext.put(UNIT) + 2**63 == 300
    assert ext.get(250 - 2**63) is None
    ext.continue_behind(-1 - (2**31))  # further than any file of this machine reaches: damage
    assert ext.put(UNIT) + 2**63 == 323


def test_old_files_go_with_their_entries(world):
    ext = new_ext(world)
    addresses = [ext.put(UNIT) for _ in range(12)]
    assert ext.remove_before(addresses[8]) == 2
    assert ext.get(addresses[0]) is None
    assert ext.get(addresses[8]) == UNIT


def test_entries_point_to_units_and_readers_see_tags_all_the_same(world):
    world.put(tags="TagA")
    ((_, _, address),) = queue_of(world).entries(0, 1)
    assert is_ext_address(address)
    assert world.store.consume_queue_entries("T", 0, 0, 1)[0][2] == java_string_hash("TagA")


@pytest.mark.parametrize("loss", ["folder", "zeros", "setting"])
def test_a_lost_unit_is_replaced_by_the_message_itself(world, loss):
    for number in range(5):
        world.put(b"%d" % number, tags="TagA" if number % 2 else "TagB")
    if loss == "zeros":
        queue_of(world).ext.files.write(0, bytes(100))
    world.shutdown()
    if loss == "folder":
        world.disk.remove("consumequeue_ext")
    if loss == "setting":
        world.config = small_config()
    world.kill()
    world.start_again()
    world.put(b"5", tags="TagA")
    tags = [code for _, _, code in world.store.consume_queue_entries("T", 0, 0, 10)]
    assert tags == [java_string_hash("TagA" if number % 2 else "TagB") for number in range(6)]


def test_after_a_power_cut_no_entry_points_to_another_messages_unit(world):
    for number in range(40):
        world.put(b"%d" % number, tags=f"tag-{number}")
        if number == 20:
            world.world.run_for(12_000)  # everything is flushed
    world.cut_power()
    world.start_again()
    for number in range(40, 60):
        world.put(b"%d" % number, tags=f"tag-{number}")
    queue = queue_of(world)
    tags = {java_string_hash(f"tag-{number}") for number in range(60)}
    bodies = world.store.get_message("G", "T", 0, 0, 32).message_count
    assert bodies
    for entry in queue.entries(0, 100):
        unit = queue.ext.get(entry[2])
        assert unit is not None
        record = world.store.commit_log.read_record(entry[0], entry[1])
        assert record is not None
        assert unit.tags_code in tags
        assert java_string_hash(record[record.index(b"tag-") :].split(b"\x02")[0].decode()) == unit.tags_code


def test_the_file_that_is_written_to_is_never_deleted(world):
    ext = new_ext(world)
    addresses = [ext.put(UNIT) for _ in range(12)]
    assert ext.remove_before(addresses[-1] + 1_000) == 2
    assert ext.get(addresses[-1]) == UNIT
    assert ext.remove_before(addresses[-1] + 1_000) == 0


def test_units_are_deleted_with_the_messages_they_belong_to(world):
    for number in range(500):
        world.put(tags=f"tag-{number}")
    queue = queue_of(world)
    assert queue.ext is not None
    before = world.disk.list_folder("consumequeue_ext/T/0")
    kept_from = queue.entries(320, 1)[0]
    assert queue.remove_expired_files(kept_from[0]) == 3
    after = world.disk.list_folder("consumequeue_ext/T/0")
    assert len(before) == 3
    assert after == before[1:]
    assert all(queue.ext.get(entry[2]) is not None for entry in queue.entries(300, 200))


def test_deleting_a_topic_deletes_its_units(world):
    world.put(tags="TagA")
    assert world.disk.list_folder("consumequeue_ext") == ["T"]
    world.store.delete_topics(["T"])
    assert world.disk.list_folder("consumequeue_ext") == []


def test_a_file_too_small_for_a_unit_is_refused():
    with pytest.raises(ValueError, match="mapped_file_size_consume_queue_ext"):
        small_config(mapped_file_size_consume_queue_ext=100)
