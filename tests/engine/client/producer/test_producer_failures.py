"""Which failures a producer tries again, where, how long, and what it says in the end. Brokers are scripted stubs."""

from __future__ import annotations

import pytest

from engine.client import (
    DefaultMQProducer,
    Message,
    MessageQueue,
    MQBrokerError,
    NameServerUnreachable,
    NoRoute,
    RequestFailed,
    SendFailed,
    SendStatus,
)
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.engine.client.producer.producer_stage import Stage
from tests.support.lab.stub_server import StubServer, answer_routes, refuse, route_of, silent, stored

# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [1, 14, 16, 17, 204, 205])
def test_after_a_refusal_that_another_broker_may_not_share_the_other_broker_is_tried(stage: Stage, code: int):
    stage.a.script(refuse(code))
    stage.b.script(stored())
    results = [stage.send() for _ in range(8)]
    assert {result.message_queue.broker_name for result in results} == {"b"}
    assert stage.a.sends, "broker a was tried first at least once"


@pytest.mark.parametrize("code", [2, 13, 215])
def test_a_final_refusal_is_raised_at_once_with_the_brokers_words(stage: Stage, code: int):
    stage.both(refuse(code, "no room today"))
    with pytest.raises(MQBrokerError, match="no room today") as caught:
        stage.send()
    assert stage.tries == 1
    assert caught.value.code == code
    assert caught.value.outcome_is_known


def test_three_tries_and_then_all_failures_are_reported(stage: Stage):
    stage.both(refuse(ResponseCode.SERVICE_NOT_AVAILABLE, "full"))
    with pytest.raises(SendFailed, match=r"tried 3 times in .* topic 'T'; it is certainly not stored") as caught:
        stage.send()
    assert stage.tries == 3
    brokers = [broker for broker, _ in caught.value.attempts]
    assert brokers in (["a", "b", "a"], ["b", "a", "b"]), "never the same broker twice in a row"


def test_when_a_broker_failed_inside_nobody_knows_whether_the_message_is_stored(stage: Stage):
    stage.both(refuse(ResponseCode.SYSTEM_ERROR))
    with pytest.raises(SendFailed, match="it may be stored all the same") as caught:
        stage.send()
    assert not caught.value.outcome_is_known


# --- silence ----------------------------------------------------------------------------------------------------------


def test_all_tries_together_end_with_the_timeout(stage: Stage):
    stage.both(silent)
    started_us = stage.world.loop.now_us
    with pytest.raises(SendFailed, match=r"of 3000 allowed.*it may be stored all the same") as caught:
        stage.send()
    elapsed_ms = (stage.world.loop.now_us - started_us) // 1000
    assert 3_000 <= elapsed_ms < 3_050
    assert stage.tries == 1
    assert not caught.value.outcome_is_known


def test_a_broker_that_is_down_costs_one_try(stage: Stage):
    stage.world.crash("a")
    stage.b.script(stored())
    assert {stage.send().message_queue.broker_name for _ in range(4)} == {"b"}


def test_a_connection_that_breaks_before_the_reply_is_tried_elsewhere(stage: Stage):
    def hang_up(request):
        for channel in stage.a.server.channels:
            channel.close()

    stage.a.script(hang_up)
    stage.b.script(stored())
    assert {stage.send().message_queue.broker_name for _ in range(4)} == {"b"}
    assert stage.a.sends


def test_a_reply_that_cannot_be_read_leaves_the_outcome_unknown(stage: Stage):
    stage.both(refuse(ResponseCode.SUCCESS))
    with pytest.raises(SendFailed, match="cannot be read: header field 'msgId': is missing") as caught:
        stage.send()
    assert not caught.value.outcome_is_known


# --- stored, but ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (0, SendStatus.SEND_OK),
        (10, SendStatus.FLUSH_DISK_TIMEOUT),
        (11, SendStatus.SLAVE_NOT_AVAILABLE),
        (12, SendStatus.FLUSH_SLAVE_TIMEOUT),
    ],
)
def test_four_codes_mean_stored(stage: Stage, code: int, status: SendStatus):
    stage.both(stored(code, queue_offset=77))
    result = stage.send()
    assert (result.status, result.queue_offset, stage.tries) == (status, 77, 1)


def test_a_message_that_is_not_quite_safe_is_sent_again_on_request():
    stage = Stage(retry_another_broker_when_not_store_ok=True)
    stage.a.script(stored(ResponseCode.FLUSH_DISK_TIMEOUT))
    stage.b.script(stored())
    assert {stage.send().status for _ in range(4)} == {SendStatus.SEND_OK}
    stage.b.script(stored(ResponseCode.SLAVE_NOT_AVAILABLE))
    assert stage.send().status is not SendStatus.SEND_OK, "better stored twice than an error"
    stage.world.close()


# --- a queue of the user's choice -------------------------------------------------------------------------------------


def test_with_a_queue_or_a_selector_there_is_one_try(stage: Stage):
    stage.both(refuse(ResponseCode.SERVICE_NOT_AVAILABLE))
    with pytest.raises(MQBrokerError):
        stage.send(queue=MessageQueue("T", "a", 2))
    assert [request.ext_fields["e"] for request in stage.a.sends] == ["2"]
    with pytest.raises(MQBrokerError):
        stage.send(selector=lambda queues, message, argument: queues[argument], selector_argument=1)
    assert stage.tries == 2


@pytest.mark.parametrize("chosen", [None, MessageQueue("T", "c", 0), 3])
def test_a_selector_must_return_one_of_the_queues(stage: Stage, chosen: object):
    with pytest.raises(ValueError, match="expected one of the 8 queues"):
        stage.send(selector=lambda queues, message, argument: chosen)
    assert stage.tries == 0


def test_a_queue_of_another_topic_is_refused(stage: Stage):
    with pytest.raises(ValueError, match="the message has topic 'T'"):
        stage.send(queue=MessageQueue("Other", "a", 0))
    with pytest.raises(ValueError, match="a queue or a selector, not both"):
        stage.send(queue=MessageQueue("T", "a", 0), selector=lambda queues, message, argument: queues[0])


# --- routes -----------------------------------------------------------------------------------------------------------


def test_a_topic_that_does_not_exist_gets_the_queues_it_will_have(stage: Stage):
    stage.routes["TBW102"] = route_of({"a": stage.a.address}, queues=8, perm=7)
    stage.both(stored())
    queues = {stage.send(Message("New", b"x")).message_queue for _ in range(20)}
    assert queues == {MessageQueue("New", "a", number) for number in range(4)}
    assert {(request.ext_fields["c"], request.ext_fields["d"]) for request in stage.a.sends} == {("TBW102", "4")}


def test_a_topic_that_nobody_creates_is_named_with_the_name_server(stage: Stage):
    with pytest.raises(NoRoute, match=f"topic 'New' at name server {stage.name_server.address}: .*is it created"):
        stage.send(Message("New", b"x"))


def test_a_topic_that_cannot_be_written_is_named(stage: Stage):
    stage.routes["ReadOnly"] = route_of({"a": stage.a.address}, perm=4)
    with pytest.raises(NoRoute, match="topic 'ReadOnly' has no queue to send to: not writable"):
        stage.send(Message("ReadOnly", b"x"))


def test_the_next_name_server_is_asked_when_one_is_down():
    stage = Stage()
    second = StubServer(stage.world, "ns2", 9876)
    second.script(answer_routes(stage.routes), codes=(RequestCode.GET_ROUTEINFO_BY_TOPIC,))
    both = f"{stage.name_server.address};{second.address}"
    producer = DefaultMQProducer(stage.world.node("P2"), "g", both)
    stage.world.run(producer.start(), node="P2")
    stage.world.crash("ns")
    stage.both(stored())
    result = stage.world.run(producer.send(Message("T", b"x")), node="P2")
    assert result.status is SendStatus.SEND_OK
    stage.world.crash("ns2")
    with pytest.raises(NameServerUnreachable, match=both.replace(";", ", ")):
        stage.world.run(producer.send(Message("Other", b"x")), node="P2")
    stage.world.close()


def test_an_order_topic_configuration_fixes_the_queues():
    stage = Stage()
    stage.routes["T"].order_topic_conf = "a:2;b:1"
    stage.both(stored())
    names = {str(stage.send().message_queue) for _ in range(9)}
    assert names == {"T@a:0", "T@a:1", "T@b:0"}
    stage.world.close()


# --- latency fault avoidance ------------------------------------------------------------------------------------------


def test_a_failed_broker_is_left_alone_for_ten_minutes_when_faults_are_avoided():
    stage = Stage(send_latency_fault_enable=True)
    stage.a.script(refuse(ResponseCode.SERVICE_NOT_AVAILABLE), stored())
    stage.b.script(stored())
    results = [stage.send() for _ in range(8)]
    assert {result.message_queue.broker_name for result in results} == {"b"}
    assert len(stage.a.sends) == 1, "the first try found out"
    stage.world.run_for(590_000)
    assert {stage.send().message_queue.broker_name for _ in range(4)} == {"b"}
    stage.world.run_for(11_000)
    assert {stage.send().message_queue.broker_name for _ in range(8)} == {"a", "b"}
    stage.world.close()


def test_without_the_switch_the_failed_broker_is_tried_again_and_again():
    stage = Stage()
    stage.a.script(refuse(ResponseCode.SERVICE_NOT_AVAILABLE))
    stage.b.script(stored())
    for _ in range(40):
        stage.send()
    assert len(stage.a.sends) >= 8
    stage.world.close()


def test_a_oneway_send_that_cannot_leave_is_held_against_its_broker():
    stage = Stage(send_latency_fault_enable=True)
    stage.world.crash("a")
    stage.b.script(stored())
    failures = 0
    for _ in range(8):
        try:
            stage.world.run(stage.producer.send_oneway(Message("T", b"x")), node="P")
        except RequestFailed:
            failures += 1
    stage.world.run_for(10)
    assert (failures, len(stage.b.sends)) == (1, 7)
    stage.world.close()


# --- one way ----------------------------------------------------------------------------------------------------------


def test_a_oneway_send_waits_for_nothing(stage: Stage):
    stage.both(silent)
    stage.world.run(stage.producer.send_oneway(Message("T", b"x")), node="P")
    stage.world.run_for(10)
    assert [request.is_oneway for request in stage.a.sends + stage.b.sends] == [True]


def test_a_oneway_send_that_cannot_leave_says_so(stage: Stage):
    stage.world.crash("a")
    send = stage.producer.send_oneway(Message("T", b"x"), queue=MessageQueue("T", "a", 0))
    with pytest.raises(RequestFailed, match="cannot connect"):
        stage.world.run(send, node="P")


# --- life -------------------------------------------------------------------------------------------------------------


def test_a_producer_that_is_not_started_or_is_shut_down_says_so(stage: Stage):
    fresh = DefaultMQProducer(stage.world.node("P"), "g", stage.name_server.address)
    with pytest.raises(Exception, match=r"CREATE_JUST.*call start"):
        stage.world.run(fresh.send(Message("T", b"x")), node="P")
    stage.world.run(stage.producer.shutdown(), node="P")
    stage.world.run(stage.producer.shutdown(), node="P")
    with pytest.raises(Exception, match=r"SHUTDOWN_ALREADY.*make a new one"):
        stage.send()


def test_a_producer_tells_brokers_of_its_group_and_leaves_it(stage: Stage):
    stage.both(stored())
    for _ in range(4):
        stage.send()
    stage.world.run_for(2_000)
    heartbeats = stage.a.requests_of(RequestCode.HEART_BEAT)
    assert len(heartbeats) == 1
    assert b'"producerDataSet":[{"groupName":"g"}]' in heartbeats[0].body
    stage.world.run(stage.producer.shutdown(), node="P")
    goodbye = stage.a.requests_of(RequestCode.UNREGISTER_CLIENT)
    assert [request.ext_fields["producerGroup"] for request in goodbye] == ["g"]


def test_the_default_producer_group_is_not_for_users():
    with pytest.raises(ValueError, match="choose a name of your own"):
        DefaultMQProducer(group="DEFAULT_PRODUCER")


def test_a_group_in_place_of_the_runtime_is_explained():
    with pytest.raises(ValueError, match=r"write DefaultMQProducer\(group='orders'"):
        DefaultMQProducer("orders", "127.0.0.1:9876")  # type: ignore[arg-type]
