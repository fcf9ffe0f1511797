import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.body.heartbeat_data import HeartbeatData
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig
from engine.protocol.command.headers import UnregisterClientRequestHeader
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab, golden_frames


def members(lab: BrokerLab, group: str = "consumers") -> list[str]:
    info = lab.broker.consumer_manager.get_consumer_group_info(group)
    return [] if info is None else info.client_ids


def notified_groups(client: LabClient) -> list[str]:
    return [request.ext_fields["consumerGroup"] for request in client.notified]


def test_a_heartbeat_creates_the_group_and_its_retry_topic():
    with broker_lab() as lab:
        reply = lab.client().heartbeat("g")
        assert (reply.code, reply.version) == (ResponseCode.SUCCESS, 409)
        assert lab.broker.subscription_group_manager.subscription_group_table["g"].retry_max_times == 16
        retry = lab.broker.topic_config_manager.topic_config_table[retry_topic("g")]
        assert (retry.read_queue_nums, retry.write_queue_nums, retry.perm) == (1, 1, 6)


def test_the_captured_heartbeats_are_understood():
    frames = [f for f in golden_frames() if f["dir"] == "C" and f["header"]["code"] == RequestCode.HEART_BEAT]
    with broker_lab() as lab:
        client = lab.client()
        for frame in frames:
            text = frame["body"]
            body = text.encode() if text.startswith("{") else bytes.fromhex(text)
            assert client.call(RequestCode.HEART_BEAT, body=body).code == ResponseCode.SUCCESS
        assert members(lab, "gc1") == ["192.0.2.2@cons1"]
        subscription = lab.broker.consumer_manager.find_subscription_data("gc1", "GT")
        assert subscription is not None
        assert sorted(subscription.tags_set) == ["TagA", "TagB"]
        assert lab.broker.producer_manager.clients_of_group("cppg")[0].client_id == "27361-127.0.0.1@DEFAULT"


def test_a_cpp_consumer_s_heartbeat_with_numbers_for_constants_is_understood():
    body = (
        b'{"clientID":"26404-127.0.0.1@only","consumerDataSet":[{"consumeFromWhere":4,"consumeType":1,'
        b'"groupName":"cg","messageModel":1,"subscriptionDataSet":'
        b'[{"subString":"*","subVersion":"1795264061585","topic":"CT"}]}]}\n'
    )
    with broker_lab() as lab:
        assert lab.client().call(RequestCode.HEART_BEAT, body=body).code == ResponseCode.SUCCESS
        info = lab.broker.consumer_manager.get_consumer_group_info("cg")
        assert info is not None
        assert (info.consume_type, info.message_model) == ("CONSUME_PASSIVELY", "CLUSTERING")
        assert info.consume_from_where == "CONSUME_FROM_FIRST_OFFSET"
        for wrong in (b'"consumeType":2', b'"consumeType":-1', b'"consumeType":[]'):
            spoiled = body.replace(b'"consumeType":1', wrong)
            assert lab.client().call(RequestCode.HEART_BEAT, body=spoiled).code == ResponseCode.SYSTEM_ERROR


def test_a_second_member_makes_the_broker_notify_all():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        first.heartbeat()
        lab.run_for(10)
        assert notified_groups(first) == ["consumers"]
        second.heartbeat()
        lab.run_for(10)
        assert notified_groups(first) == ["consumers"] * 2
        assert notified_groups(second) == ["consumers"]
        assert all(request.is_oneway for request in first.notified)


def test_members_that_leave_together_are_reported_once():
    with broker_lab() as lab:
        clients = [lab.client(f"c{number}") for number in range(4)]
        for client in clients:
            client.heartbeat()
        lab.run_for(10)
        first = clients[0]
        first.notified.clear()

        async def lose_the_others() -> None:
            info = lab.broker.consumer_manager.get_consumer_group_info("consumers")
            assert info is not None
            for channel in info.channels[1:]:
                lab.broker.consumer_manager.channel_closed(channel)

        lab.world.run(lose_the_others(), node="broker-a")
        lab.run_for(10)
        assert members(lab) == ["c0@1"]
        assert notified_groups(first) == ["consumers"]


def test_a_repeated_heartbeat_notifies_nobody():
    with broker_lab() as lab:
        client = lab.client()
        for version in (1, 2, 3):
            client.heartbeat(version=version)
        lab.run_for(10)
        assert len(client.notified) == 1


def test_a_killed_member_is_noticed_by_its_connection_and_the_rest_is_notified():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        first.heartbeat()
        second.heartbeat()
        lab.run_for(10)
        before = len(first.notified)
        lab.world.crash("second")
        lab.run_for(10)
        assert len(first.notified) == before + 1
        assert members(lab) == ["first@1"]


def test_a_member_that_unregisters_leaves_and_the_rest_is_notified():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        first.heartbeat()
        second.heartbeat(producer_groups=("p",))
        lab.run_for(10)
        before = len(first.notified)
        header = UnregisterClientRequestHeader("second@1", "p", "consumers")
        assert second.call(RequestCode.UNREGISTER_CLIENT, header).code == ResponseCode.SUCCESS
        lab.run_for(10)
        assert len(first.notified) == before + 1
        assert members(lab) == ["first@1"]
        assert lab.broker.producer_manager.clients_of_group("p") == []


def test_the_last_member_takes_the_group_with_it():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat()
        client.call(RequestCode.UNREGISTER_CLIENT, UnregisterClientRequestHeader("client@1", "", "consumers"))
        assert lab.broker.consumer_manager.get_consumer_group_info("consumers") is None
        assert client.call(RequestCode.UNREGISTER_CLIENT, UnregisterClientRequestHeader("x")).code == 0


def test_a_topic_missing_from_one_member_s_heartbeat_is_gone_for_all():
    with broker_lab() as lab:
        first, second = lab.client("first"), lab.client("second")
        first.heartbeat(subscriptions={"T": "*", "U": "*"})
        second.heartbeat(subscriptions={"T": "*"})
        assert lab.broker.consumer_manager.find_subscription_data("consumers", "U") is None


def test_an_older_subscription_does_not_replace_a_newer_one():
    with broker_lab() as lab:
        client = lab.client()
        client.heartbeat(subscriptions={"T": "TagB"}, version=5)
        client.heartbeat(subscriptions={"T": "TagA"}, version=4)
        subscription = lab.broker.consumer_manager.find_subscription_data("consumers", "T")
        assert subscription is not None
        assert subscription.sub_string == "TagB"


def test_a_group_can_be_kept_from_being_notified():
    with broker_lab() as lab:
        config = SubscriptionGroupConfig("consumers", notify_consumer_ids_changed_enable=False)
        lab.world.run(lab.broker.subscription_group_manager.update_subscription_group_config(config), node="broker-a")
        client = lab.client()
        client.heartbeat()
        lab.run_for(10)
        assert client.notified == []


def test_a_client_without_heartbeats_is_cut_off_after_120_s():
    with broker_lab() as lab:
        silent, other = lab.client("silent"), lab.client("other")
        silent.heartbeat()
        for _ in range(13):
            lab.run_for(10_000)
            other.heartbeat()
            silent.call(RequestCode.GET_BROKER_RUNTIME_INFO)  # traffic alone is no sign of a living consumer
        assert members(lab) == ["other@1"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"clientID":5}',
        b'{"clientID":""}',
        b'{"clientID":"a\\u0000b"}',
        b'{"clientID":"' + b"x" * 600 + b'"}',
        b'{"clientID":"c","consumerDataSet":{}}',
        b'{"clientID":"c","consumerDataSet":[{"groupName":"g","messageModel":"TELEPATHY"}]}',
        b'{"clientID":"c","consumerDataSet":[{"groupName":"g g"}]}',
        b'{"clientID":"c","producerDataSet":[{"groupName":""}]}',
    ],
)
def test_a_bad_heartbeat_is_refused_with_its_reason_and_changes_nothing(body):
    with broker_lab() as lab:
        reply = lab.client().call(RequestCode.HEART_BEAT, body=body)
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert reply.remark
        assert "internal error" not in reply.remark
        assert len(lab.broker.consumer_manager) == len(lab.broker.producer_manager) == 0


def test_groups_online_are_bounded():
    with broker_lab(BrokerConfig(max_online_groups=2)) as lab:
        client = lab.client()
        heartbeat = HeartbeatData("c", ("p1", "p2", "p3"))
        reply = client.call(RequestCode.HEART_BEAT, body=heartbeat.to_json())
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "allows 2" in (reply.remark or "")
        codes = [client.heartbeat(f"g{number}").code for number in range(4)]
        assert codes == [0, 0, 1, 1]


def test_subscriptions_of_a_group_are_bounded():
    with broker_lab(BrokerConfig(max_subscriptions_per_group=3)) as lab:
        client = lab.client()
        assert client.heartbeat(subscriptions={"A": "*", "B": "*"}).code == ResponseCode.SUCCESS
        reply = client.heartbeat(subscriptions={"A": "*", "B": "*", "C": "*"})
        assert reply.code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize(
    ("config", "subscriptions", "what"),
    [
        (BrokerConfig(max_tags_per_subscription=3), {"T": "a||b||c||d"}, "tags in the subscription of group g to T"),
        (BrokerConfig(max_subscription_bytes=2_000), {"T": "a" * 1_000}, "bytes in the subscription of group g to T"),
        (BrokerConfig(max_subscription_bytes_in_all=2_000), {"T": "a", "U": "b", "V": "c"}, "in all subscriptions"),
    ],
)
def test_what_a_subscription_takes_is_bounded_and_a_heartbeat_beyond_it_changes_nothing(config, subscriptions, what):
    with broker_lab(config) as lab:
        reply = lab.client().heartbeat("g", subscriptions, producer_groups=("p",))
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert what in (reply.remark or "")
        assert len(lab.broker.consumer_manager) == len(lab.broker.producer_manager) == 0
        assert "g" not in lab.broker.subscription_group_manager.subscription_group_table


def test_a_flood_of_tags_is_bounded_in_memory_and_room_is_given_back():
    with broker_lab(BrokerConfig(max_subscription_bytes_in_all=100_000)) as lab:
        clients = [lab.client(f"c{number}") for number in range(20)]
        tags = "||".join(f"tag-{number}" for number in range(100))
        codes = [client.heartbeat(f"g-{client.name}", {"T": tags}).code for client in clients]
        assert codes[:5] == [ResponseCode.SUCCESS] * 5
        assert codes[-1] == ResponseCode.SYSTEM_ERROR
        refused = codes.index(ResponseCode.SYSTEM_ERROR)
        # Who is there already may stay, change its mind, and leave room for others.
        assert clients[0].heartbeat("g-c0", {"T": tags}).code == ResponseCode.SUCCESS
        lab.world.crash("c0")
        lab.run_for(1_000)
        assert clients[refused].heartbeat(f"g-c{refused}", {"T": tags}).code == ResponseCode.SUCCESS


def test_members_of_groups_are_bounded_for_consumers_and_for_producers():
    with broker_lab(BrokerConfig(max_group_members=3)) as lab:
        consumers = [lab.client(f"c{number}").heartbeat("g").code for number in range(4)]
        assert consumers == [0, 0, 0, 1]
        client = lab.client("p")
        codes = [client.call(RequestCode.HEART_BEAT, body=HeartbeatData("p", groups).to_json()).code
                 for groups in (("a", "b"), ("a", "b", "c"), ("a", "b", "c", "d"), ("a", "b", "c"))]  # fmt: skip
        assert codes == [0, 0, 1, 0]
        assert len(lab.broker.producer_manager) == 3
        lab.world.crash("p")
        lab.run_for(1_000)
        assert len(lab.broker.producer_manager) == 0
        assert (
            lab.client("q").call(RequestCode.HEART_BEAT, body=HeartbeatData("q", ("x", "y", "z")).to_json()).code == 0
        )


def test_a_group_whose_retry_topic_would_be_too_long_gets_none():
    with broker_lab() as lab:
        group = "g" * 200
        assert lab.client().heartbeat(group).code == ResponseCode.SUCCESS
        assert members(lab, group) == ["client@1"]
        assert retry_topic(group) not in lab.broker.topic_config_manager.topic_config_table
