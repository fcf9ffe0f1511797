import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.command.headers import GetRouteInfoRequestHeader, SendMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.batch_codec import encode_batch
from engine.protocol.message.message import Message
from engine.protocol.message.message_id import decode_offset_message_id
from engine.protocol.names import dlq_topic, retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig
from tests.engine.broker.lab_broker import broker_lab, golden_frames


def golden(direction: str, code: int, *, opaque: int) -> dict:
    return next(
        frame
        for frame in golden_frames()
        if frame["dir"] == direction
        and frame["header"]["code"] == code
        and frame["header"]["opaque"] == opaque
        and (direction == "C" or "msgId" in frame["header"].get("extFields", {}))
    )


@pytest.mark.parametrize("binary", [False, True])
def test_a_message_is_stored_where_the_reply_says(binary):
    with broker_lab() as lab:
        client = lab.client(binary=binary)
        reply = client.send(body=b"one", queue_id=2, tags="TagA", keys="k1 k2")
        assert reply.code == ResponseCode.SUCCESS
        assert (reply.ext_fields["queueId"], reply.ext_fields["queueOffset"]) == ("2", "0")
        host, offset = decode_offset_message_id(reply.ext_fields["msgId"])
        assert host == lab.broker.address
        stored = lab.broker.store.message_at(offset)
        assert stored is not None
        assert (stored.topic, stored.queue_id, stored.body, stored.tags) == ("T", 2, b"one", "TagA")
        assert stored.store_host == lab.broker.address
        assert stored.born_host.startswith("10.0.0.3:")
        entries = lab.broker.store.consume_queue_entries("T", 2, 0, 10)
        assert entries[0][2] == java_string_hash("TagA")


def test_the_reply_has_the_fields_of_the_captured_one():
    with broker_lab() as lab:
        client = lab.client()
        for code, opaque in ((310, 125), (10, 2)):
            captured = golden("C", code, opaque=opaque)["header"]
            answer = golden("S", 0, opaque=opaque)["header"]
            request = RemotingCommand(code, ext_fields={k: str(v) for k, v in captured["extFields"].items()}, body=b"x")
            reply = client.exchange(request)
            assert reply.code == 0
            assert reply.remark is None
            assert reply.ext_fields.keys() == answer["extFields"].keys()
            for name in ("queueId", "TRACE_ON", "MSG_REGION", "queueOffset"):
                assert reply.ext_fields[name] == answer["extFields"][name]


def test_every_refusal_carries_region_and_trace_fields():
    with broker_lab() as lab:
        reply = lab.client().send("SCHEDULE_TOPIC_XXXX")
        assert reply.code == ResponseCode.NO_PERMISSION
        assert reply.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def test_wait_is_not_stored_and_the_cluster_is_added():
    with broker_lab() as lab:
        client = lab.client()
        client.send(properties={"WAIT": "true", "a": "1"})
        (message,) = client.messages()
        assert message.properties == {"a": "1", "CLUSTER": "DefaultCluster"}


def test_a_oneway_send_is_stored_and_not_answered():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        request = client.send_request("T", Message("T", b"two"))
        lab.world.run(client.remoting.send_oneway(lab.broker.address, request), node="client")
        bad = client.send_request("SCHEDULE_TOPIC_XXXX", Message("T", b"refused"))
        lab.world.run(client.remoting.send_oneway(lab.broker.address, bad), node="client")
        lab.run_for(1_000)
        (channel,) = (c for c in lab.broker.server.channels)
        assert channel.frames_in == 3
        assert channel.frames_out == 1
        assert [message.body for message in client.messages()] == [b"hello", b"two"]


# --- topics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "made"), [(4, 4), (100, 8), (1, 1), (0, 1), (-3, 1)])
def test_an_unknown_topic_is_created_with_the_smaller_number_of_queues(wanted, made):
    with broker_lab() as lab:
        assert lab.client().send("New", default_topic_queue_nums=wanted).code == ResponseCode.SUCCESS
        config = lab.broker.topic_config_manager.topic_config_table["New"]
        assert (config.read_queue_nums, config.write_queue_nums, config.perm) == (made, made, 6)


def test_a_created_topic_reaches_the_name_server_at_once():
    with broker_lab() as lab:
        client = lab.client()
        client.send("New")
        lab.run_for(20)
        reply = client.ask_name_server(RequestCode.GET_ROUTEINFO_BY_TOPIC, GetRouteInfoRequestHeader("New"))
        assert reply.code == ResponseCode.SUCCESS


@pytest.mark.parametrize("template", ["NoSuchTopic", "SELF_TEST_TOPIC", ""])
def test_a_template_without_the_inherit_bit_creates_nothing(template):
    with broker_lab() as lab:
        reply = lab.client().send("New", default_topic=template)
        assert reply.code == ResponseCode.TOPIC_NOT_EXIST
        assert "New" in (reply.remark or "")
        assert "New" not in lab.broker.topic_config_manager.topic_config_table


def test_without_auto_creation_an_unknown_topic_is_refused():
    with broker_lab(BrokerConfig(auto_create_topic_enable=False)) as lab:
        assert lab.client().send("New").code == ResponseCode.TOPIC_NOT_EXIST


@pytest.mark.parametrize("topic", ["", " ", "a b", "топик", "T" * 128, "a/b", "a\x00"])
def test_an_illegal_topic_name_is_refused_with_its_reason(topic):
    with broker_lab() as lab:
        reply = lab.client().send(topic)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "topic name" in (reply.remark or "")


def test_the_number_of_topics_is_bounded():
    with broker_lab(BrokerConfig(max_topics=10)) as lab:
        client = lab.client()
        codes = [client.send(f"T{number}").code for number in range(5)]
        assert codes == [0, 0, 1, 1, 1]
        assert "10" in (client.send("T9").remark or "")
        assert client.send("T0").code == ResponseCode.SUCCESS


def test_a_queue_that_does_not_exist_is_refused_and_minus_one_means_any():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 4)
        assert client.send(queue_id=4).code == ResponseCode.SYSTEM_ERROR
        chosen = {client.send(queue_id=-1).ext_fields["queueId"] for _ in range(50)}
        assert chosen == {"0", "1", "2", "3"}


# --- limits and what is not served -----------------------------------------------------------------------------------


def test_a_body_beyond_the_limit_is_illegal_and_leaves_nothing():
    with broker_lab(store_config=MessageStoreConfig(max_message_size=1_000)) as lab:
        client = lab.client()
        assert client.send(body=b"x" * 1_000).code == ResponseCode.SUCCESS
        reply = client.send(body=b"x" * 1_001)
        assert reply.code == ResponseCode.MESSAGE_ILLEGAL
        assert "1000" in (reply.remark or "")
        assert len(client.messages()) == 1


def test_properties_beyond_the_limit_are_illegal():
    with broker_lab() as lab:
        assert lab.client().send(properties={"a": "x" * 33_000}).code == ResponseCode.MESSAGE_ILLEGAL


def test_a_client_cannot_claim_that_hosts_are_ipv6():
    with broker_lab() as lab:
        client = lab.client()
        client.send(sys_flag=0x30 | 0x1 | 0x300)
        message = client.lab.broker.store.get_message("g", "T", 0, 0, 1).data
        assert int.from_bytes(message[36:40], "big") == 0x301


# --- batches ---------------------------------------------------------------------------------------------------------


def batch_request(messages: list[Message], **fields) -> RemotingCommand:
    header = SendMessageRequestHeader(
        "producers",
        fields.get("topic", "T"),
        "TBW102",
        4,
        1,
        0,
        1_767_225_600_000,
        0,
        fields.get("properties", "WAIT\x01true"),
        batch=True,
    )
    request = RemotingCommand.request(RequestCode.SEND_BATCH_MESSAGE, body=fields.get("body", encode_batch(messages)))
    request.ext_fields = header.encode_v2()
    return request


def test_a_batch_becomes_messages_with_consecutive_offsets():
    with broker_lab() as lab:
        client = lab.client()
        client.send(queue_id=1)
        messages = [Message("T", b"%d" % number, "TagA", f"k{number}") for number in range(3)]
        reply = client.exchange(batch_request(messages))
        assert reply.code == ResponseCode.SUCCESS
        assert (reply.ext_fields["queueId"], reply.ext_fields["queueOffset"]) == ("1", "1")
        ids = reply.ext_fields["msgId"].split(",")
        stored = client.messages(queue_id=1, offset=1)
        assert [message.offset_message_id for message in stored] == ids
        assert [message.queue_offset for message in stored] == [1, 2, 3]
        assert [message.body for message in stored] == [b"0", b"1", b"2"]
        assert stored[0].properties == {"TAGS": "TagA", "KEYS": "k0", "WAIT": "true", "CLUSTER": "DefaultCluster"}
        assert lab.broker.stats.totals.in_messages == 4


def test_the_captured_batch_is_answered_like_the_real_broker_answered_it():
    with broker_lab() as lab:
        client = lab.client()
        frame = golden("C", 320, opaque=182)
        request = RemotingCommand(320, ext_fields=frame["header"]["extFields"], body=bytes.fromhex(frame["body"]))
        reply = client.exchange(request)
        answer = golden("S", 0, opaque=182)["header"]["extFields"]
        assert reply.ext_fields.keys() == answer.keys()
        assert len(reply.ext_fields["msgId"]) == len(answer["msgId"])
        assert [message.keys for message in client.messages("GX")] == [("bk0",), ("bk1",), ("bk2",)]


@pytest.mark.parametrize(
    ("fields", "remark"),
    [
        ({"body": b""}, "the batch is empty"),
        ({"body": b"\x00" * 50}, "message 0 of the batch says 0 bytes"),
        ({"properties": "DELAY\x013"}, "a batch cannot be delayed"),
        ({"properties": "TRAN_MSG\x01true\x02PGROUP\x01g"}, "a batch cannot be transactional"),
        ({"topic": "%RETRY%g"}, "a batch cannot go to retry topic %RETRY%g"),
        ({"body": encode_batch([Message("T", b"x")])[:-1]}, "message 0 of the batch has an impossible body length 1"),
        (
            {"body": encode_batch([Message("T", b"x"), Message("T", b"y", properties={"p": "y" * 32_740})])},
            "message 1 of the batch: the properties take 32775 bytes; allowed: 32767",
        ),
    ],
)
def test_a_batch_that_cannot_be_is_refused_whole(fields, remark):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        reply = client.exchange(batch_request([Message("T", b"x")], **fields))
        assert reply.code == ResponseCode.MESSAGE_ILLEGAL
        assert remark in (reply.remark or "")
        assert lab.broker.store.commit_log.max_offset == 0


def test_a_batch_larger_than_the_largest_body_is_refused():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        limit = lab.broker.store.config.max_message_size
        reply = client.exchange(batch_request([Message("T", b"x" * (limit - 22)), Message("T", b"x")]))
        assert reply.code == ResponseCode.MESSAGE_ILLEGAL
        assert f"takes {limit + 23} bytes; allowed: {limit}" in (reply.remark or "")
        assert client.exchange(batch_request([Message("T", b"x" * (limit - 22))])).code == ResponseCode.SUCCESS


def test_long_properties_of_a_batch_are_not_copied_to_more_messages_than_could_be_stored(monkeypatch):
    """4 MiB on the wire would become gigabytes in memory."""
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        monkeypatch.setattr(
            "engine.broker.processors.send_message_processor.batch_members", None
        )  # nothing may be copied
        messages = [Message("T", b"", properties={"n": str(number)}) for number in range(10_000)]
        reply = client.exchange(batch_request(messages, properties="A\x01" + "y" * 30_000))
        assert reply.code == ResponseCode.MESSAGE_ILLEGAL
        assert "in each of its 10000 messages" in (reply.remark or "")


# --- retry topics, delay, flush --------------------------------------------------------------------------------------


def test_a_message_to_a_retry_topic_becomes_a_dead_letter_after_its_delay_when_its_retries_are_used_up():
    with broker_lab() as lab:
        client = lab.client()
        topic = retry_topic("g")
        assert client.send(topic, reconsume_times=1, max_reconsume_times=2).code == ResponseCode.SUCCESS
        assert client.send(topic, reconsume_times=2, max_reconsume_times=2, delay_level=3).code == ResponseCode.SUCCESS
        assert len(client.messages(topic)) == 1
        assert client.messages(dlq_topic("g")) == []
        lab.run_for(10_200)
        (letter,) = client.messages(dlq_topic("g"))
        assert (letter.properties["DELAY"], letter.properties["REAL_TOPIC"]) == ("3", dlq_topic("g")), (
            "as from RocketMQ"
        )
        assert lab.broker.topic_config_manager.topic_config_table[dlq_topic("g")].write_queue_nums == 1


def test_an_old_client_s_message_counts_by_the_group_s_retries():
    with broker_lab() as lab:
        client = lab.client()
        request = client.send_request(retry_topic("g"), Message("T", b"x"), reconsume_times=2, max_reconsume_times=2)
        request.version = 63
        client.exchange(request)
        assert len(client.messages(retry_topic("g"))) == 1


def test_a_delayed_message_is_answered_with_its_real_queue_and_delivered_when_due():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", 4)
        reply = client.send(queue_id=3, delay_level=2, tags="TagA")
        assert (reply.ext_fields["queueId"], reply.ext_fields["queueOffset"]) == ("3", "0")
        lab.run_for(4_900)
        assert client.messages(queue_id=3) == []
        lab.run_for(200)
        (message,) = client.messages(queue_id=3)
        assert message.properties["REAL_TOPIC"] == "T"
        assert message.properties["REAL_QID"] == "3"
        assert message.properties["DELAY"] == "2"
        assert message.store_timestamp >= 1_767_225_605_000


def test_sync_flush_answers_after_the_disk_and_async_before():
    for kind in FlushDiskType:
        with broker_lab(store_config=MessageStoreConfig(flush_disk_type=kind)) as lab:
            client = lab.client()
            client.send()
            durable = lab.broker.store.commit_log.flushed_offset == lab.broker.store.commit_log.max_offset
            assert durable is (kind is FlushDiskType.SYNC_FLUSH)


def test_a_message_that_waits_for_nothing_is_answered_before_the_flush():
    with broker_lab(store_config=MessageStoreConfig(flush_disk_type=FlushDiskType.SYNC_FLUSH)) as lab:
        client = lab.client()
        client.send(properties={"WAIT": "false"})
        assert lab.broker.store.commit_log.flushed_offset == 0


def test_sends_are_counted():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        client.send("SCHEDULE_TOPIC_XXXX")
        stats = lab.broker.stats
        assert stats.topics["T"].in_messages == 1
        assert stats.totals.in_bytes == lab.broker.store.commit_log.max_offset


def test_after_a_flush_that_failed_nothing_is_acknowledged_any_more():
    with broker_lab(store_config=MessageStoreConfig(flush_disk_type=FlushDiskType.SYNC_FLUSH)) as lab:
        client = lab.client()
        assert client.send().code == ResponseCode.SUCCESS
        storage = lab.world.storages["broker-a"]
        storage.flush_error = "input/output error"
        failed = client.send()
        assert failed.code == ResponseCode.FLUSH_DISK_TIMEOUT
        assert "not known to be durable" in (failed.remark or "")
        assert "input/output error" in (failed.remark or "")
        storage.flush_error = None  # the next flush would succeed, without the pages that the failed one lost
        for _ in range(3):
            refused = client.send()
            assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
            assert "input/output error" in (refused.remark or "")
        assert len(client.messages()) == 2  # reading goes on


def test_transaction_bits_are_refused_in_a_batch_that_looks_like_the_one_before():
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        assert client.exchange(batch_request([Message("T", b"x")])).code == ResponseCode.SUCCESS
        end = lab.broker.store.commit_log.max_offset
        request = batch_request([Message("T", b"y")])
        request.ext_fields["f"] = "4"
        reply = client.exchange(request)
        assert (reply.code, "transaction bits" in (reply.remark or "")) == (ResponseCode.MESSAGE_ILLEGAL, True)
        assert lab.broker.store.commit_log.max_offset == end


def test_a_batch_that_waits_for_nothing_is_answered_before_the_flush():
    with broker_lab(store_config=MessageStoreConfig(flush_disk_type=FlushDiskType.SYNC_FLUSH)) as lab:
        client = lab.client()
        client.create_topic("T")
        assert client.exchange(batch_request([Message("T", b"x")], properties="WAIT\x01false")).code == 0
        assert lab.broker.store.commit_log.flushed_offset == 0
        assert client.exchange(batch_request([Message("T", b"x")])).code == ResponseCode.SUCCESS
        assert lab.broker.store.commit_log.flushed_offset == lab.broker.store.commit_log.max_offset
