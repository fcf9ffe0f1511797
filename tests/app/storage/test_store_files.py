"""Files of both stores, unit by unit and field by field: no byte is left out, none is listed twice."""

from __future__ import annotations

from collections import Counter

import pytest

from app.storage.laboratory.laboratory import BuiltStores
from app.storage.laboratory.store_files import HEX_MAX_BYTES, UNITS_MAX, StoreFile, UnknownFile
from app.storage.laboratory.traffic import LaboratoryTraffic
from tests.app.storage.conftest import TRAFFIC

#: Formats whose units are all made of fields.
LAID_OUT = {"record", "queue_entry", "index_header", "index_slot", "index_entry", "checkpoint", "batch"}
LAID_OUT |= {"offset_entry", "time_entry"}


def each_file(stores):
    for name, side in stores.sides.items():
        for file in stores.files[name]:
            yield StoreFile(side, file["path"]), file


def test_the_units_of_each_file_are_all_of_its_bytes(stores):
    formats = Counter()
    for file, listed in each_file(stores):
        formats[listed["format"]] += 1
        position = 0
        for unit in file.units:
            assert unit.start == position, (file.path, unit)
            position = unit.end
        assert position == listed["size_bytes"], file.path
    assert set(formats) == {
        "commitlog",
        "consumequeue",
        "index",
        "checkpoint",
        "log",
        "offset_index",
        "time_index",
        "text",
    }


def test_the_fields_of_a_unit_are_all_of_its_bytes(stores):
    seen = set()
    for file, _ in each_file(stores):
        firsts = {unit.kind: unit for unit in reversed(file.units)}
        for kind, unit in firsts.items():
            reported = file.unit(unit.start)
            assert bytes.fromhex(reported["hex"]) or kind == "empty"
            if kind in LAID_OUT:
                seen.add(kind)
                position = 0
                for one in reported["fields"]:
                    assert one["start"] == position, (file.path, kind, one)
                    position += one["length"]
                shown_records = reported["contents"] and len(reported["contents"])
                assert position == unit.length or shown_records, (file.path, kind)
    assert seen == LAID_OUT


def test_every_message_lies_in_both_stores(stores):
    records = sum(unit.kind == "record" for file, _ in each_file(stores) for unit in file.units)
    entries = sum(unit.kind == "queue_entry" for file, _ in each_file(stores) for unit in file.units)
    batched = sum(
        unit.values["records"] for file, _ in each_file(stores) for unit in file.units if unit.kind == "batch"
    )
    assert records == entries == batched == TRAFFIC.messages


def test_a_queue_entry_leads_to_its_record(stores):
    side = stores.sides["rocketmq"]
    entry = StoreFile(side, "consumequeue/orders-1/1/00000000000000006000").units[7]
    assert entry.values["number"] == 307
    offset = entry.values["commit_log_offset"]
    assert isinstance(offset, int)
    path = f"commitlog/{offset // 1_048_576 * 1_048_576:020d}"
    record = StoreFile(side, path).unit(offset % 1_048_576)
    assert record["values"]["queue_offset"] == 307
    assert (record["values"]["topic"], record["length"]) == ("orders-1", entry.values["bytes"])


def test_a_file_is_shown_page_by_page_from_any_byte(stores):
    file = StoreFile(stores.sides["kafka"], "orders-0-0/00000000000000000000.log")
    first = file.page(0)
    assert (first["first"], len(first["units"]), first["previous_at"]) == (0, UNITS_MAX, None)
    second = file.page(first["next_at"] or 0)
    assert second["first"] == UNITS_MAX
    assert second["previous_at"] == 0
    inside = file.page(second["units"][3]["start"] + 10)
    assert inside["units"][0] == second["units"][3]
    last = file.page(2**31)
    assert (last["next_at"], len(last["units"])) == (None, 1)


def test_of_a_hole_only_the_beginning_is_sent(stores):
    file = StoreFile(stores.sides["rocketmq"], "commitlog/00000000000001048576")
    hole = file.unit(2**31)
    assert hole["kind"] == "unused"
    assert len(hole["hex"]) == 2 * HEX_MAX_BYTES
    assert hole["hex_omitted_bytes"] == hole["length"] - HEX_MAX_BYTES


@pytest.mark.parametrize(
    "path", ["", ".", "..", "/etc/passwd", "../kafka", "commitlog", "commitlog/../checkpoint", "commitlog/x", "a\0b"]
)
def test_only_files_of_the_store_are_opened(stores, path):
    with pytest.raises(UnknownFile):
        StoreFile(stores.sides["rocketmq"], path)


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_a_packed_batch_is_one_field_and_its_records_are_reported_unpacked(codec):
    stores = BuiltStores(LaboratoryTraffic(topics=1, queues=1, messages=30, batch_records=30, codec=codec))
    try:
        batch = StoreFile(stores.sides["kafka"], "orders-0-0/00000000000000000000.log").unit(0)
        packed = batch["fields"][-1]
        assert (packed["name"], packed["start"] + packed["length"]) == ("packed_records", batch["length"])
        assert [record["offset"] for record in batch["contents"]] == list(range(30))
        assert batch["values"]["codec"] == codec
    finally:
        stores.close()
