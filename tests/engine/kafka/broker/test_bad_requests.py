"""What our broker refuses: Kafka's code, nothing lost, and the connection lives on where Kafka's does."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.kafka.wire.cluster import ApiVersionsRequest, InitProducerIdRequest, MetadataRequest
from engine.kafka.wire.fields import ITEMS_MAX, TEXT_MAX_BYTES
from engine.kafka.wire.frames import decode_response, encode_request
from engine.kafka.wire.offsets import OF_GROUP, FindCoordinatorRequest, OffsetFetchRequest, TopicPartitions
from engine.runtime.port import Runtime
from tests.support.kafka.asking import Asker
from tests.support.kafka.bad_requests import (
    BAD_REQUESTS,
    BadRequest,
    codes_in,
    commit_request,
    fetch_request,
    produce_request,
    times_request,
)
from tests.support.kafka.brokers import address_of, running_broker
from tests.support.kafka.partitions import batch_of, orders, records_in
from tests.support.lab.both_worlds import run_scenario
from tests.support.tiers import examples

GOOD_FRAMES = [
    encode_request(request, 1, "flipped")
    for request in (
        MetadataRequest(("Orders",)),
        ApiVersionsRequest(),
        InitProducerIdRequest(None, 0),
        produce_request(batch_of(2, 3, producer_id=9, producer_epoch=0, base_sequence=0)),
        fetch_request(0),
        times_request(0),
        commit_request(1, metadata="noted"),
        FindCoordinatorRequest("readers", OF_GROUP),
        OffsetFetchRequest("readers", (TopicPartitions("Orders", (0,)),)),
    )
]


@pytest.mark.parametrize("bad", BAD_REQUESTS, ids=lambda bad: bad.name)
def test_a_bad_request_gets_its_code_and_changes_nothing(tmp_path: Path, bad: BadRequest) -> None:
    async def scenario(server: Runtime, client: Runtime) -> None:
        async with running_broker(server) as broker:
            asker = await Asker.connected(client, address_of(broker))
            await asker.ask(produce_request(batch_of(3)))
            asker.connection.send_frame(bad.frame)
            if bad.codes is None:
                await asker.lost()
                asker = await Asker.connected(client, address_of(broker))
            else:
                assert codes_in(decode_response(await asker.next_frame(), bad.key)) == bad.codes
            fetched = await asker.ask(fetch_request(0))
            assert codes_in(fetched) == ()
            assert records_in(fetched.responses[0].partitions[0].records) == orders(3)
            assert broker.offsets.committed == {}

    run_scenario("lab", tmp_path, scenario)


@settings(max_examples=examples(quick=25, full=300))
@given(st.sampled_from(GOOD_FRAMES), st.data())
def test_a_flipped_bit_kills_neither_the_broker_nor_what_was_acknowledged(frame: bytes, data: st.DataObject) -> None:
    bit = data.draw(st.integers(32, 8 * len(frame) - 1))  # after the length
    flipped = bytearray(frame)
    flipped[bit // 8] ^= 1 << bit % 8

    async def scenario(server: Runtime, client: Runtime) -> None:
        async with running_broker(server) as broker:
            asker = await Asker.connected(client, address_of(broker))
            await asker.ask(produce_request(batch_of(3)))
            asker.connection.send_frame(bytes(flipped))
            asker = await Asker.connected(client, address_of(broker))
            fetched = await asker.ask(fetch_request(0))
            assert records_in(fetched.responses[0].partitions[0].records)[:3] == orders(3)

    run_scenario("lab", Path(), scenario)


TOO_MANY_NAMES = encode_request(MetadataRequest(("",) * (ITEMS_MAX + 1)), 1, "flood")
#: When Kafka quotes it, each of these bytes would be three, and too many for a text.
TOO_LONG_A_NAME = encode_request(MetadataRequest(("x" * TEXT_MAX_BYTES,)), 1, "flood").replace(b"x", b"\xff")


@pytest.mark.parametrize("frame", [TOO_MANY_NAMES, TOO_LONG_A_NAME])
def test_a_frame_whose_answer_would_be_too_large_is_turned_away(tmp_path: Path, frame: bytes) -> None:
    async def scenario(server: Runtime, client: Runtime) -> None:
        async with running_broker(server) as broker:
            asker = await Asker.connected(client, address_of(broker))
            asker.connection.send_frame(frame)
            await asker.lost()

    run_scenario("lab", tmp_path, scenario)
