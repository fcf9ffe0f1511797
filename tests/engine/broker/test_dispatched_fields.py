"""What queues and index hold of a message follows from its stored form alone, so that a rebuilt one is the same."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.message.batch_codec import encode_batched_message
from engine.protocol.message.message import Message
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.message.record_layout import BLANK_MAGIC, SIZE_AND_MAGIC
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.protocol.system_flags import MESSAGE_MULTI_TAGS
from engine.store.files.store_config import MessageStoreConfig
from engine.store.log.stored_record import parse_record
from engine.store.queues.dispatch_request import DispatchRequest
from engine.store.store_check import CheckKind, StoreCheck
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab
from tests.support.tiers import examples

_names = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "WAIT", "DELAY", "TRAN_MSG", "PGROUP", "REAL_TOPIC", "a", ""])
_values = st.sampled_from(
    [
        "",
        "a",
        "b c",
        "1",
        "3",
        "true",
        "重量",
        "x\x01y",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ]
)
_texts = st.lists(st.tuples(_names, st.sampled_from(["\x01", ""]), _values).map("".join), max_size=5).map("\x02".join)
_own = st.one_of(
    _texts.map(str.encode),
    st.lists(st.sampled_from([b"TAGS\x01\xd6\xd8", b"UNIQ_KEY\x01\xff", b"KEYS\x01k"])).map(b"\x02".join),
)
_requests = st.one_of(
    st.tuples(st.just("one"), st.sampled_from(["T", "%RETRY%consumers"]), _texts, st.integers(0, 17)),
    st.tuples(st.just("batch"), st.lists(_own, min_size=1, max_size=4), _texts),
    st.tuples(st.just("reply"), _texts),
    st.tuples(st.just("back"), st.integers(-1, 2)),
)


def _carry_out(client: LabClient, request: tuple) -> None:
    kind, *parts = request
    if kind == "back":
        found = client.messages()
        if found:
            client.send_back(found[-1], delay_level=parts[0])
        return
    body, text = b"body", parts[-1]
    if kind == "batch":
        body = b"".join(encode_batched_message(0, b"member", own) for own in parts[0])
    if kind == "one":
        topic, text, retries = parts
        command = client.send_request(topic, Message(topic, body), sys_flag=MESSAGE_MULTI_TAGS, reconsume_times=retries)
    else:
        command = client.send_request("T", Message("T", body), batch=kind == "batch")
        command.code = RequestCode.SEND_BATCH_MESSAGE if kind == "batch" else RequestCode.SEND_REPLY_MESSAGE_V2
    command.ext_fields["i"] = text
    client.exchange(command)


def _in_log(lab: BrokerLab) -> list[DispatchRequest]:
    log, offset, found = lab.broker.store.commit_log, 0, []
    while offset < log.max_offset:
        size, magic = SIZE_AND_MAGIC.unpack(log.read_bytes(offset, SIZE_AND_MAGIC.size))
        if magic != BLANK_MAGIC:
            request = parse_record(log.read_bytes(offset, size), 0, offset, lab.broker.store.config.delay_levels_ms)
            assert request is not None
            found.append(request)
        offset += size
    return found


def _fields(request: DispatchRequest) -> list[object]:
    return [
        request.topic,
        request.queue_id,
        request.queue_offset,
        request.commit_log_offset,
        request.size_bytes,
        request.tags_code,
        request.store_timestamp,
        request.sys_flag,
        request.keys,
        request.unique_key,
    ]


@settings(max_examples=examples(quick=25, full=300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_requests, min_size=1, max_size=6))
def test_what_is_dispatched_live_is_what_the_log_gives(requests) -> None:
    with broker_lab(BrokerConfig(store_reply_message_enable=True), name_server=False) as lab:
        client = lab.client()
        client.create_topic("T", queues=1)
        client.heartbeat()
        live: list[DispatchRequest] = []
        dispatcher = lab.broker.store.dispatcher
        arrived = dispatcher.on_messages_arrived
        assert arrived is not None

        def noted(some: Sequence[DispatchRequest]) -> None:
            live.extend(some)
            arrived(some)

        dispatcher.on_messages_arrived = noted
        for request in requests:
            _carry_out(client, request)
        lab.run_for(20_000)
        assert [_fields(request) for request in live] == [_fields(request) for request in _in_log(lab)]


def test_tags_and_keys_of_a_batch_request_find_its_messages_at_once_and_check_finds_all_whole() -> None:
    with broker_lab(BrokerConfig(), MessageStoreConfig(), name_server=False) as lab:
        client = lab.client()
        client.create_topic("T", queues=1)
        own = [b"TAGS\x01own\x02KEYS\x01mine\x02UNIQ_KEY\x01A", b"UNIQ_KEY\x01B"]
        body = b"".join(encode_batched_message(0, b"body", each) for each in own)
        request = client.send_request("T", Message("T", body, "common", "shared"), batch=True)
        request.code = RequestCode.SEND_BATCH_MESSAGE
        assert client.exchange(request).code == ResponseCode.SUCCESS
        for _ in range(2):
            assert [message.queue_offset for message in client.messages(subscription="common")] == [0, 1]
            assert client.messages(subscription="own") == []
            for key, offsets in (("shared", {0, 1}), ("mine", set()), ("A", {0}), ("B", {1})):
                result = lab.broker.store.query_message("T", key, 10, 0, 2**62)
                found = {message.queue_offset for buffer in result.buffers for message in decode_messages(buffer)}
                assert found == offsets
            lab.stop_broker()
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        assert [count.places for count in _checked(lab).counts.values()] == [[]] * len(CheckKind)


def _checked(lab: BrokerLab) -> StoreCheck:
    node = lab.world.node("broker-a")

    async def look() -> StoreCheck:
        check = StoreCheck(node.disk, node.clock)
        check.run()
        return check

    return lab.world.run(look(), node="broker-a")
