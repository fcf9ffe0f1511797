"""Pulling ranges: nothing lost, nothing twice, in order, whatever a broker does."""

from __future__ import annotations

import logging
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.schema import arrow_schema
from engine.pipeline.source.reader import range_puller
from engine.pipeline.source.reader.offset_range import OffsetRange
from engine.pipeline.source.reader.options import ReadOptions
from engine.pipeline.source.reader.range_reader import read_ranges
from engine.protocol.command.pull_message_headers import PullMessageResponseHeader
from engine.protocol.names import SCHEDULE_TOPIC
from engine.protocol.response_code import ResponseCode
from tests.support.live.scripted_broker import CLOSE, ScriptedBroker

QUEUE = QueueKey("Orders", "broker-a", 0)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(range_puller, "_RECONNECT_PAUSE_S", 0)
    monkeypatch.setattr(range_puller, "BUSY_PAUSE_MS", 0)


def offsets(broker, start=None, end=None, **options):
    return [offset for batch in batches(broker, start, end, **options) for offset in batch.column(0).to_pylist()]


def batches(broker, start=None, end=None, *, ranges=None, tags=(), **options):
    parsed = ReadOptions.parse({"nameServer": broker.address, "topic": "Orders", **options})
    if ranges is None:
        ranges = [(broker.low if start is None else start, broker.high if end is None else end)]
    wanted = [OffsetRange(QUEUE, broker.address, first, last) for first, last in ranges]
    return list(read_ranges(parsed, wanted, arrow_schema(("queue_offset",)), tags))


@given(
    high=st.integers(1, 400),
    per_pull=st.integers(1, 70),
    is_reversed=st.booleans(),
    cuts=st.lists(st.integers(0, 400), max_size=4),
)
@settings(max_examples=25, deadline=None)
def test_every_message_comes_once_and_in_order_whatever_a_broker_gives_per_pull(high, per_pull, is_reversed, cuts):
    edges = sorted({0, high, *(cut for cut in cuts if cut < high)})
    with ScriptedBroker(high=high, per_pull=per_pull) as broker:
        broker.is_reversed = is_reversed
        assert offsets(broker, ranges=list(pairwise(edges))) == list(range(high))


def test_pulls_are_sent_ahead_of_the_answers_in_the_brokers_own_size(broker):
    broker.high = 2_000
    assert offsets(broker) == list(range(2_000))
    assert broker.most_at_once > 8
    assert [header.max_msg_nums for header in broker.pulls[:4]] == [2_000, 32, 32, 32]


def test_what_waits_for_a_slow_first_answer_is_bounded(broker, monkeypatch):
    monkeypatch.setattr(range_puller, "_BYTES_AHEAD_MAX", 4_000)
    monkeypatch.setattr(range_puller, "BUSY_RETRIES", 60)
    broker.high, broker.per_pull = 1_000, 10
    asked_meanwhile, healthy = [], broker.pull

    def pull(request):
        asked_meanwhile.append(broker.pulls[-1].queue_offset)
        is_slow = broker.pulls[-1].queue_offset == 10 and asked_meanwhile.count(10) < 50
        return request.reply(ResponseCode.SYSTEM_BUSY, "later") if is_slow else healthy(request)

    broker.pull = pull
    assert offsets(broker) == list(range(1_000))
    until = max(place for place, offset in enumerate(asked_meanwhile) if offset == 10)
    assert asked_meanwhile.count(10) == 50 and max(asked_meanwhile[:until]) <= 100


def test_a_pull_leaves_no_trace_in_the_broker(broker):
    offsets(broker)
    header = broker.pulls[0]
    assert (header.sys_flag, header.consumer_group, header.suspend_timeout_millis) == (4, "TOOLS_CONSUMER", 0)


def test_a_lost_connection_is_made_anew_and_nothing_comes_twice(broker):
    broker.high = 1_000
    broker.script = [broker.pull, broker.pull, lambda request: CLOSE, broker.pull, lambda request: CLOSE]
    assert offsets(broker) == list(range(1_000))


def test_a_connection_may_be_lost_any_number_of_times_as_long_as_answers_come_between(broker):
    broker.high = 1_000
    broker.script = [broker.pull, broker.pull, lambda request: CLOSE] * 12
    assert offsets(broker) == list(range(1_000))
    assert broker.script == []


def test_only_losses_in_a_row_count_against_a_broker(broker):
    """With tags one pull is on its way at a time: each loss is one of its own."""
    broker.tags, broker.high = "A", 1_000
    broker.script = [broker.pull, lambda request: CLOSE] * 12
    assert offsets(broker, tags=("A",)) == list(range(1_000))
    assert broker.script == []


def test_with_tags_a_pull_may_bring_more_than_was_wanted_and_the_rest_is_left_to_its_own_task(broker):
    broker.tags = "A"
    assert offsets(broker, 0, 10, tags=("A",)) == list(range(10))
    assert offsets(broker, 10, 100, tags=("A",)) == list(range(10, 100))


def test_garbage_from_a_broker_counts_as_a_lost_connection(broker):
    broker.script = [lambda request: b"\0\0\0\5hello"]
    assert offsets(broker) == list(range(100))


def test_a_broker_that_stays_away_is_named(broker):
    broker.script = [lambda request: CLOSE] * 50
    with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_BROKER_AWAY\] topic 'Orders': broker 'broker-a' does not"):
        offsets(broker)


def test_a_busy_broker_is_asked_again(broker):
    broker.script = [lambda request: request.reply(ResponseCode.SYSTEM_BUSY, "[TIMEOUT_CLEAN_QUEUE]")] * 3
    assert offsets(broker) == list(range(100))


def test_a_broker_that_stays_busy_refuses(broker):
    broker.script = [lambda request: request.reply(ResponseCode.SYSTEM_BUSY, "too much to do")] * 50
    with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_REFUSED\].*too much to do"):
        offsets(broker)


@pytest.mark.parametrize(
    ("code", "condition"),
    [
        (ResponseCode.NO_PERMISSION, "ROCKETMQ_REFUSED"),
        (ResponseCode.SYSTEM_ERROR, "ROCKETMQ_REFUSED"),
        (ResponseCode.TOPIC_NOT_EXIST, "ROCKETMQ_UNKNOWN_TOPIC"),
    ],
)
def test_what_a_broker_refuses_is_said_with_its_own_words(broker, code, condition):
    broker.script = [lambda request: request.reply(code, "not for you")]
    with pytest.raises(RocketMQError, match="not for you") as error:
        offsets(broker)
    assert error.value.condition == condition


# --- data loss -------------------------------------------------------------------------------------------------------


def test_messages_that_were_deleted_since_the_plan_are_an_error(broker):
    broker.low = 40
    with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_OFFSETS_GONE\] topic 'Orders' queue broker-a:0: offset 0 is"):
        offsets(broker, 0, 100)


def test_with_fail_on_data_loss_off_the_read_goes_on_with_what_is_left(broker, caplog):
    broker.low = 40
    with caplog.at_level(logging.WARNING, "glassmq.pipeline"):
        assert offsets(broker, 0, 100, failOnDataLoss="false") == list(range(40, 100))
    assert "the queue holds 40 to 99" in caplog.text


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_topic_deleted_meanwhile_is_an_error_unless_loss_is_allowed(broker, caplog, fails):
    """Spark repeats a micro-batch that failed: a query that allows loss would fail forever."""

    def delete(request):
        broker.pull = lambda request: request.reply(ResponseCode.TOPIC_NOT_EXIST, "no such topic")
        return broker.pull(request)

    broker.high, broker.script = 1_000, [broker.pull, broker.pull, delete]
    if fails == "true":
        with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_UNKNOWN_TOPIC\].*no such topic"):
            offsets(broker)
    else:
        assert offsets(broker, failOnDataLoss="false") == list(range(64))
        assert caplog.text.count("its topic is deleted, so its messages from offset 64 on are lost") == 1


def test_messages_that_a_broker_lost_at_its_end_are_an_error(broker):
    with pytest.raises(RocketMQError, match="ROCKETMQ_OFFSETS_GONE"):
        offsets(broker, 0, 120)
    assert offsets(broker, 0, 120, failOnDataLoss="false") == list(range(100))


@pytest.mark.parametrize("tags", [(), ("A",)])
def test_a_place_where_a_broker_finds_nothing_is_left_out_alone(broker, caplog, tags):
    broker.high, broker.tags = 1_000, "A"

    def finds_nothing(request):
        header = PullMessageResponseHeader(0, 37, broker.low, broker.high)
        return request.reply(ResponseCode.PULL_NOT_FOUND, "OFFSET_FOUND_NULL", header)

    broker.script = [broker.pull, finds_nothing]
    with caplog.at_level(logging.WARNING):
        assert offsets(broker, tags=tags, failOnDataLoss="false") == [*range(32), *range(37, 1_000)]
    assert "finds nothing at offset 32, although the queue holds 0 to 999" in caplog.text


def test_a_tag_that_only_shares_its_hash_is_left_out(broker):
    broker.tags = "BB"
    assert offsets(broker, tags=("Aa",)) == []
    assert offsets(broker, tags=("BB",)) == list(range(100))


def test_where_delayed_messages_wait_tags_are_compared_here(broker):
    """The broker notes their time where it notes the hash of other messages' tags."""
    broker.tags = "A"
    waiting = QUEUE._replace(topic=SCHEDULE_TOPIC)
    for tag, found in (("A", 100), ("B", 0)):
        broker.pulls.clear()
        parsed = ReadOptions.parse({"nameServer": broker.address, "topic": SCHEDULE_TOPIC})
        wanted = [OffsetRange(waiting, broker.address, 0, 100)]
        read = read_ranges(parsed, wanted, arrow_schema(("queue_offset",)), (tag,))
        assert sum(batch.num_rows for batch in read) == found
        assert {pull.subscription for pull in broker.pulls} == {"*"}


def test_a_hole_that_a_broker_leaves_while_it_deletes_is_an_error(broker):
    hole = partial(broker.pull, leave_out=(3, 4))
    broker.script = [hole]
    with pytest.raises(RocketMQError, match=r"offsets 0 to 31 the broker gave 30 messages instead of 32"):
        offsets(broker)
    broker.script = [hole]
    assert offsets(broker, failOnDataLoss="false") == [*range(3), *range(5, 100)]


@pytest.mark.parametrize("tags", [(), ("A",)])
def test_a_broker_that_deletes_while_it_reads_says_so(broker, tags):
    broker.script = [partial(broker.pull, code=ResponseCode.PULL_RETRY_IMMEDIATELY, remark="MESSAGE_WAS_REMOVING")]
    with pytest.raises(RocketMQError, match="ROCKETMQ_OFFSETS_GONE"):
        offsets(broker, tags=tags)


def test_a_broker_whose_answer_leads_nowhere_does_not_keep_a_task_for_ever(broker):
    def stuck(request):
        answer = broker.pull(request)
        answer.ext_fields["nextBeginOffset"] = "0"
        return answer

    broker.script = [stuck]
    with pytest.raises(RocketMQError, match="ROCKETMQ_REFUSED"):
        offsets(broker)


# --- batches ---------------------------------------------------------------------------------------------------------


def test_batches_hold_a_bounded_number_of_bytes(broker, monkeypatch):
    monkeypatch.setattr("engine.pipeline.source.reader.range_reader._BATCH_BYTES", 1_000)
    broker.high, broker.per_pull = 300, 10
    assert max(len(batch) for batch in batches(broker)) <= 20
