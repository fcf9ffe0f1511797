"""Filtering by SQL92 at the broker: codes 1, 23, 27, 28, waiting pulls, retries."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from engine.broker.filters.consumer_filter_manager import ConsumerFilterManager
from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.names import retry_topic
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.store.queues.dispatch_request import DispatchRequest
from tests.engine.broker.filters.filtering_clients import ON, SQL, YOUNG, found, send_ages, subscribe
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab, golden_frames


@pytest.fixture
def lab() -> Iterator[BrokerLab]:
    with broker_lab(ON) as lab:
        yield lab


# ------------------------------------------------------------------------------------------------ pulling


def test_a_pull_gets_what_the_groups_expression_is_true_for(lab):
    client = lab.client()
    send_ages(client, 3, 9, 6, 7)
    client.send(body=b"nobody")
    subscribe(client)
    assert found(client) == [b"3", b"6"]
    counts = lab.broker.filter_statistics.of("consumers", "T")
    assert (counts.let_through, counts.kept_back) == (2, 3)


def test_a_pull_that_finds_only_unwanted_messages_goes_on_behind_them(lab):
    client = lab.client()
    send_ages(client, 9, 8)
    subscribe(client)
    reply = client.pull(subscription=None, **SQL)
    assert (reply.code, reply.remark) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
    assert reply.ext_fields["nextBeginOffset"] == "2"


def test_a_pull_may_bring_its_expression_along(lab):
    client = lab.client()
    send_ages(client, 3, 9)
    assert found(client, subscription="age > 6") == [b"9"]
    assert not len(lab.broker.consumer_filter_manager)


def test_system_properties_can_be_filtered_by_too(lab):
    client = lab.client()
    client.send(body=b"a", tags="TagA", keys="k1")
    client.send(body=b"b", tags="TagB", keys="k2")
    assert found(client, subscription="TAGS IN ('TagB') AND KEYS = 'k2'") == [b"b"]


def test_a_value_that_cannot_be_compared_keeps_its_message_back_and_no_other(lab):
    client = lab.client()
    client.send(body=b"seven", properties={"age": "seven"})
    send_ages(client, 3)
    subscribe(client)
    assert found(client) == [b"3"]


def test_a_bad_expression_in_a_pull_is_refused_with_its_column(lab):
    client = lab.client()
    client.send()
    reply = client.pull(subscription="age betwen 0 AND 6", **SQL)
    assert reply.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert (reply.remark or "").endswith("  age betwen 0 AND 6\n      ^")


@pytest.mark.parametrize("subscription", [None, YOUNG])
def test_without_the_setting_sql_is_refused(subscription):
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        subscribe(client)
        reply = client.pull(subscription=subscription, expression_type="SQL92")
        assert reply.code == ResponseCode.SYSTEM_ERROR
        assert "enablePropertyFilter=false" in (reply.remark or "")


def test_without_the_setting_a_wrong_expression_of_a_group_is_27_all_the_same():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        subscribe(client, "age >")
        reply = client.pull(subscription=None, expression_type="SQL92")
        assert reply.code == ResponseCode.FILTER_DATA_NOT_EXIST


def test_without_the_setting_unknown_kinds_of_expressions_are_refused_as_sql_is():
    with broker_lab() as lab:
        client = lab.client()
        client.send()
        assert client.pull(subscription="x", expression_type="XPATH").code == ResponseCode.SYSTEM_ERROR


def test_an_unknown_kind_of_expression_is_refused_with_those_allowed(lab):
    client = lab.client()
    client.send()
    reply = client.pull(subscription="x", expression_type="XPATH")
    assert reply.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "'XPATH'; allowed: TAG, SQL92" in (reply.remark or "")


def test_a_group_whose_expression_is_wrong_gets_27_and_why(lab):
    client = lab.client()
    client.send()
    subscribe(client, "age >")
    reply = client.pull(subscription=None, **SQL)
    assert reply.code == ResponseCode.FILTER_DATA_NOT_EXIST
    assert "column 6" in (reply.remark or "")


def test_a_pull_that_knows_a_newer_expression_gets_28(lab):
    client = lab.client()
    client.send()
    subscribe(client, version=5)
    data = lab.broker.consumer_filter_manager.get("T", "consumers")
    assert data is not None
    data.client_version = 4
    reply = client.pull(subscription=None, version=5, **SQL)
    assert reply.code == ResponseCode.FILTER_DATA_NOT_LATEST


def test_25_comes_before_27_and_28(lab):
    client = lab.client()
    client.send()
    subscribe(client, "age >", version=5)
    assert client.pull(subscription=None, version=6, **SQL).code == ResponseCode.SUBSCRIPTION_NOT_LATEST


# ------------------------------------------------------------------------------------------------ waiting


def test_a_waiting_pull_wakes_for_a_message_that_it_wants_only(lab):
    client, sender = lab.client(), lab.client("sender")
    sender.create_topic("T")
    subscribe(client)
    task = client.begin(client.pull_request(subscription=None, suspend_ms=15_000, **SQL))
    lab.run_for(100)
    send_ages(sender, 9)
    lab.run_for(100)
    assert not task.done()
    send_ages(sender, 3)
    lab.run_for(100)
    assert task.done()
    assert [message.body for message in decode_messages(task.result().body)] == [b"3"]


def test_a_waiting_pull_wakes_when_nobody_can_tell_whether_it_wants_the_message(lab):
    client = lab.client()
    client.create_topic("T")
    subscribe(client)
    task = client.begin(client.pull_request(subscription=None, suspend_ms=15_000, **SQL))
    lab.run_for(100)
    unreadable = DispatchRequest("T", 0, 0, 10**9, 100, 0, 0, 0, "", "")

    async def arrive() -> None:
        lab.broker.pull_request_hold_service.notify_messages_arriving([unreadable])

    lab.world.run(arrive(), node="broker-a")
    lab.run_for(100)
    assert task.result().code == ResponseCode.PULL_NOT_FOUND


# ------------------------------------------------------------------------------------------------ checking a client


def checked(client: LabClient, expression: str, kind: str = "SQL92"):
    frame = next(
        f for f in golden_frames() if f["dir"] == "C" and f["header"]["code"] == RequestCode.CHECK_CLIENT_CONFIG
    )
    body = json.loads(frame["body"])
    body["subscriptionData"].update(subString=expression, expressionType=kind)
    return client.call(RequestCode.CHECK_CLIENT_CONFIG, body=json.dumps(body).encode())


def test_a_client_is_reported_before_it_subscribes(lab):
    client = lab.client()
    assert checked(client, YOUNG).code == ResponseCode.SUCCESS
    assert checked(client, "TagA || TagB", "TAG").code == ResponseCode.SUCCESS
    refused = checked(client, "a = NULL")
    assert refused.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
    assert "column 5" in (refused.remark or "")


def test_the_captured_check_of_a_java_client_is_answered(lab):
    frame = next(
        f for f in golden_frames() if f["dir"] == "C" and f["header"]["code"] == RequestCode.CHECK_CLIENT_CONFIG
    )
    reply = lab.client().call(RequestCode.CHECK_CLIENT_CONFIG, body=frame["body"].encode())
    assert reply.code == ResponseCode.SUCCESS


# ------------------------------------------------------------------------------------------------ bounds


SLOW = BrokerConfig(enable_property_filter=True, max_filter_words_per_second=30)


def test_new_expressions_are_compiled_only_so_fast_and_known_ones_always():
    with broker_lab(SLOW) as lab:
        client = lab.client()
        codes = [checked(client, f"a = {number}").code for number in range(20)]
        assert codes.index(ResponseCode.SYSTEM_BUSY) == 3  # a third of the words, as others may ask
        assert "maxFilterWordsPerSecond" in (checked(client, "b = 1").remark or "")
        assert checked(client, "a = 0").code == ResponseCode.SUCCESS
        lab.run_for(1_000)
        assert checked(client, "b = 1").code == ResponseCode.SUCCESS


def test_one_connections_flood_of_expressions_is_not_paid_for_by_another():
    with broker_lab(ON) as lab:
        flooding, honest = lab.client(), lab.client()
        codes = []
        for number in range(20):
            flood = [checked(flooding, f"a = {number} AND " + " AND ".join(["b = 1"] * 400)).code for _ in range(3)]
            flood += [checked(flooding, f"f{number} = {other}").code for other in range(50)]
            codes.append(checked(honest, f"c = {number}").code)
        assert ResponseCode.SYSTEM_BUSY in flood
        assert codes == [ResponseCode.SUCCESS] * 20


def test_mistakes_are_remembered_and_cost_nothing_the_second_time():
    with broker_lab(SLOW) as lab:
        client = lab.client()
        assert [checked(client, "age BETWEN 0 AND 6").code for _ in range(50)] == [23] * 50
        assert checked(client, YOUNG).code == ResponseCode.SUCCESS


def test_a_group_keeps_its_expression_until_the_broker_has_time_for_the_new_one(caplog):
    with broker_lab(SLOW) as lab:
        client = lab.client()
        subscribe(client)
        send_ages(client, 3, 30)
        for number in range(20):  # until nothing more is compiled
            checked(client, f"a = {number}")
        subscribe(client, "age > 6", version=2)
        assert "is not accepted yet" in caplog.text
        data = lab.broker.consumer_filter_manager.get("T", "consumers")
        assert data is not None
        assert data.expression == YOUNG
        lab.run_for(2_000)
        subscribe(client, "age > 6", version=2)
        assert found(client, version=2) == [b"30"]


def test_a_group_that_comes_and_goes_looks_at_no_other_groups_expressions(monkeypatch):
    """A heartbeat may name a thousand groups while ten thousand expressions are kept."""
    with broker_lab(BrokerConfig(enable_property_filter=True)) as lab:
        client = lab.client()
        client.heartbeat("g0", {"T": YOUNG}, expression_type="SQL92")
        with monkeypatch.context() as patch:
            patch.setattr(ConsumerFilterManager, "__iter__", lambda self: pytest.fail("all expressions are looked at"))
            client.heartbeat("g1", {"T": YOUNG}, expression_type="SQL92")
            client.heartbeat("g1", {"T": "age > 6"}, expression_type="SQL92", version=2)
            client.heartbeat("g1", {})
        filters = lab.broker.consumer_filter_manager
        assert [(data.consumer_group, data.is_dead) for data in filters] == [("g0", False), ("g1", True)]


def test_an_expression_that_is_too_long_costs_the_others_nothing():
    with broker_lab(SLOW) as lab:
        client = lab.client()
        assert [checked(client, f"{'a ' * 5_000}{number}").code for number in range(50)] == [23] * 50
        client.heartbeat("g0", {"T": "a " * 5_000}, expression_type="SQL92")
        assert checked(client, YOUNG).code == ResponseCode.SUCCESS


def test_an_arriving_message_is_read_once_for_all_waiting_pulls_of_a_group(monkeypatch):
    with broker_lab(BrokerConfig(enable_property_filter=True)) as lab:
        client = lab.client()
        subscribe(client)
        client.send()
        for _ in range(50):
            client.begin(client.pull_request(offset=1, suspend_ms=30_000, subscription=None))
        lab.run_for(100)
        assert len(lab.broker.pull_request_hold_service) == 50
        service, reads = lab.broker.pull_request_hold_service, []
        read = service.read_record

        def counted(offset: int, size_bytes: int) -> bytes | None:
            reads.append(offset)
            return read(offset, size_bytes)

        monkeypatch.setattr(service, "read_record", counted)
        send_ages(client, 30)
        lab.run_for(100)
        assert len(reads) == 1
        assert len(lab.broker.pull_request_hold_service) == 50


def test_a_pull_with_its_own_expression_is_asked_to_come_again():
    with broker_lab(SLOW) as lab:
        client = lab.client()
        send_ages(client, 3)
        codes = [client.pull(subscription=f"age = {number}", expression_type="SQL92").code for number in range(20)]
        assert codes[-1] == ResponseCode.SYSTEM_BUSY
        lab.run_for(1_000)
        assert found(client, subscription="age = 3") == [b"3"]


def test_all_expressions_together_are_bounded():
    with broker_lab(BrokerConfig(enable_property_filter=True, max_consumer_filter_words=7)) as lab:
        client = lab.client()
        for group in ("g0", "g1", "g2"):
            client.heartbeat(group, {"T": "a = 1"}, expression_type="SQL92")
        filters = lab.broker.consumer_filter_manager
        assert [data.consumer_group for data in filters] == ["g0", "g1"]
        client.send()
        reply = client.pull(group="g2", subscription=None, expression_type="SQL92")
        assert reply.code == ResponseCode.FILTER_DATA_NOT_EXIST
        assert "maxConsumerFilterWords" in (reply.remark or "")


# ------------------------------------------------------------------------------------------------ retries


def give_back(client: LabClient, topic: str, age: int) -> None:
    """Store a message of ``topic`` that the group failed to consume, as it is in its retry topic."""
    retry = retry_topic("consumers")
    client.send(retry, b"%d" % age, properties={"age": str(age), "RETRY_TOPIC": topic})


@pytest.mark.parametrize(("filter_support_retry", "bodies"), [(False, [b"3", b"9", b"8"]), (True, [b"3", b"8"])])
def test_retries_are_filtered_only_on_demand(filter_support_retry, bodies):
    with broker_lab(BrokerConfig(enable_property_filter=True, filter_support_retry=filter_support_retry)) as lab:
        client = lab.client()
        client.create_topic("T")
        subscribe(client)
        give_back(client, "T", 3)
        give_back(client, "T", 9)
        give_back(client, "other topic", 8)  # not filtered there, so not here
        lab.run_for(10)
        assert found(client, topic=retry_topic("consumers"), expression_type="TAG") == bodies
