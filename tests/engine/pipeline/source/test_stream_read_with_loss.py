"""Streams whose topics, brokers and messages vanish: what ends a query, and how one goes on where loss is allowed."""

from __future__ import annotations

import json
import logging
import re
from contextlib import ExitStack

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from engine.pipeline.source.cluster import cluster as cluster_module
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.decoding.schema import spark_schema
from engine.pipeline.source.reader.stream_reader import make_stream_reader
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from tests.support.live.scripted_broker import CLOSE, ScriptedBroker
from tests.support.pipeline.micro_batches import micro_batches

START = {"Orders": {"broker-a:0": 0}}


class Cluster(ScriptedBroker):
    """A broker and its name server, which lists the topics of ``routes``. ``counts``: how often each request came."""

    def __init__(self, **options):
        super().__init__(**options)
        self.counts = {}

    def _answer(self, request):
        self.counts[request.code] = self.counts.get(request.code, 0) + 1
        if request.code == RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER:
            return request.reply(ResponseCode.SUCCESS, body=json.dumps({"topicList": list(self.routes)}).encode())
        if request.code == RequestCode.GET_BROKER_CLUSTER_INFO:
            return request.reply(ResponseCode.SUCCESS, body=b'{"brokerAddrTable": {}}')
        return super()._answer(request)


@pytest.fixture
def cluster():
    with Cluster(high=10) as running:
        yield running


@pytest.fixture
def second():
    """A second broker."""
    with ScriptedBroker(high=5) as running:
        yield running


@pytest.fixture
def stream(cluster):
    """Makes readers of the topic Orders."""
    with ExitStack() as stack:

        def make(**options):
            if not options.keys() & {"subscribe", "subscribePattern", "assign"}:
                options["topic"] = "Orders"
            made = make_stream_reader(
                spark_schema(("body",)), {"nameServer": cluster.address, "retryTimeoutMs": "0", **options}
            )
            stack.callback(made.stop)
            return made

        yield make


@pytest.fixture
def warnings(caplog):
    """What was logged as a warning so far."""
    with caplog.at_level(logging.WARNING, "glassmq.pipeline"):
        yield lambda: [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def rows_of(batches):
    return [rows for _, rows in batches]


# --- topics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [[("broker-a", 1, 1, 2)], None], ids=["write-only", "deleted meanwhile"])
@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_topic_without_readable_queues_does_not_stop_the_others_of_a_pattern(cluster, stream, other, fails, warnings):
    cluster.routes["Orders2"] = other
    matching = stream(subscribePattern="Orders.*", startingOffsets="earliest", failOnDataLoss=fails)
    start = matching.initialOffset()
    assert start == START
    assert rows_of(micro_batches(matching, start)) == [10]
    assert warnings() == []


def test_a_pattern_that_finds_nothing_to_read_is_an_error_at_the_start(cluster, stream):
    cluster.routes = {"Orders": [("broker-a", 1, 1, 2)]}
    with pytest.raises(RocketMQError, match=r"UNKNOWN_TOPIC\] option 'subscribePattern': no topic matches 'Ord.*' and"):
        stream(subscribePattern="Ord.*").initialOffset()


def test_a_topic_of_a_pattern_that_was_read_must_not_vanish_unless_loss_is_allowed(cluster, stream, warnings):
    cluster.routes["Orders2"] = [("broker-a", 1, 1, 2)]
    start = START | {"Orders2": {"broker-a:0": 3}}
    with pytest.raises(
        RocketMQError,
        match=r"UNKNOWN_TOPIC\] .* no longer lists Orders2 broker-a:0 .*: it has no readable queue of topic Orders2; ",
    ):
        stream(subscribePattern="Orders.*").latestOffset(start, ReadAllAvailable())
    lenient = stream(subscribePattern="Orders.*", failOnDataLoss="false")
    assert rows_of(micro_batches(lenient, start)) == [10]
    assert len(warnings()) == 1


def test_a_deleted_topic_does_not_stop_the_other_subscribed_ones_where_loss_is_allowed(cluster, stream, warnings):
    start = START | {"Refunds": {"broker-a:0": 3}}
    with pytest.raises(RocketMQError, match=r"UNKNOWN_TOPIC\] option 'subscribe': .* knows no topic 'Refunds'"):
        stream(subscribe="Orders,Refunds").latestOffset(start, ReadAllAvailable())
    lenient = stream(subscribe="Orders,Refunds", failOnDataLoss="false")
    ((end, rows),) = micro_batches(lenient, start)
    assert (end, rows) == ({"Orders": {"broker-a:0": 10}, "Refunds": {"broker-a:0": 3}}, 10)
    (warning,) = warnings()
    assert "no longer lists Refunds broker-a:0" in warning
    cluster.routes = {}
    assert micro_batches(lenient, end) == [], "no topic is left; the stream waits"
    limited = stream(subscribe="Orders,Refunds", failOnDataLoss="false", maxBytesPerTrigger="1000")
    assert micro_batches(limited, end, limited.getDefaultReadLimit()) == []


@pytest.mark.parametrize(
    "options",
    [
        {"topic": "Orders"},
        {"subscribe": "Orders"},
        {"subscribePattern": "Orde.."},
        {"assign": '{"Orders": ["broker-a:0"]}'},
    ],
)
def test_queues_that_the_options_of_a_restart_leave_out_are_named_immediately(cluster, stream, warnings, options):
    cluster.routes = {"Orders": [("broker-a", 2, 2, 6)], "%RETRY%g": [("broker-a", 1, 1, 6)]}
    start = START | {"%RETRY%g": {"broker-a:0": 0}}
    if "assign" in options:
        start["Orders"] = {"broker-a:0": 0, "broker-a:1": 0}
    running = stream(**options, retryTimeoutMs="60000")
    pauses = pausing(running)
    (option,) = options
    left_out = "%RETRY%g broker-a:0" + (", Orders broker-a:1" if "assign" in options else "")
    text = f"option '{option}': it leaves out {left_out}, which the checkpoint has; "
    with pytest.raises(RocketMQError, match=re.escape(f"[ROCKETMQ_WRONG_OPTION] {text}allowed: ")):
        running.latestOffset(start, ReadAllAvailable())
    assert pauses == [] and warnings() == []
    lenient = stream(**options, failOnDataLoss="false")
    lenient.latestOffset(start, ReadAllAvailable())
    assert warnings() == [f"{text}the stream continues without"]


def test_a_topic_that_is_unknown_at_the_start_is_an_error_even_where_loss_is_allowed(stream):
    lenient = stream(subscribe="Orders,Refunds", failOnDataLoss="false")
    lenient.prepareForTriggerAvailableNow()
    with pytest.raises(RocketMQError, match=r"UNKNOWN_TOPIC\] option 'subscribe': .* knows no topic 'Refunds'"):
        lenient.initialOffset()


# --- brokers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_master", [True, False])
def test_a_broker_that_is_away_does_not_stop_the_others_where_loss_is_allowed(
    cluster, second, stream, warnings, has_master
):
    cluster.routes["Orders"].append(("broker-b", 1, 1, 6))
    cluster.addresses["broker-b"] = {0 if has_master else 1: "127.0.0.1:1"}
    start = {"Orders": {"broker-a:0": 0, "broker-b:0": 0}}
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_BROKER_AWAY.*broker 'broker-b'"):
        stream().latestOffset(start, ReadAllAvailable())
    lenient = stream(failOnDataLoss="false")
    ((end, rows),) = micro_batches(lenient, start)
    assert (end, rows) == ({"Orders": {"broker-a:0": 10, "broker-b:0": 0}}, 10)
    assert lenient.reportLatestOffset()["Orders"] == {"broker-a:0": 10}
    (warning,) = warnings()
    assert "broker 'broker-b'" in warning and warning.endswith("the stream continues without Orders broker-b:0")
    cluster.addresses["broker-b"] = {0: second.address}
    assert rows_of(micro_batches(lenient, end)) == [5], "it goes on when the broker is back"
    assert len(warnings()) == 1


def test_a_broker_that_is_lost_between_two_questions_is_left_out_too(cluster, second, stream, warnings):
    cluster.routes["Orders"].append(("broker-b", 1, 1, 6))
    cluster.addresses["broker-b"] = {0: second.address}
    healthy = second._answer
    second._answer = lambda request: CLOSE if request.code == RequestCode.GET_MIN_OFFSET else healthy(request)
    start = {"Orders": {"broker-a:0": 0, "broker-b:0": 0}}
    ((end, rows),) = micro_batches(stream(failOnDataLoss="false"), start)
    assert (end, rows) == ({"Orders": {"broker-a:0": 10, "broker-b:0": 0}}, 10)
    assert len(warnings()) == 1


def test_a_broker_that_is_away_at_the_start_is_an_error_even_where_loss_is_allowed(cluster, stream):
    cluster.addresses["broker-a"] = {0: "127.0.0.1:1"}
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_BROKER_AWAY.*broker 'broker-a'"):
        stream(failOnDataLoss="false").initialOffset()


# --- name servers ----------------------------------------------------------------------------------------------------


def silence(node):
    """Let ``node`` close every connection; returns what makes it answer again."""
    healthy, node._answer = node._answer, lambda _: CLOSE
    return lambda: setattr(node, "_answer", healthy)


@pytest.fixture
def name_server(cluster):
    """A name server of its own, which routes to ``cluster``."""
    with Cluster() as running:
        running.addresses = {"broker-a": {0: cluster.address}}
        yield running


@pytest.mark.parametrize("which", [{}, {"subscribe": "Orders"}, {"subscribePattern": "Ord.*"}])
@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_stream_goes_on_while_no_name_server_answers(cluster, name_server, stream, warnings, which, fails):
    running = stream(nameServer=name_server.address, failOnDataLoss=fails, **which)
    ((end, _),) = micro_batches(running, START)
    answer_again = silence(name_server)
    for high in (20, 30):
        cluster.high = high
        ((end, rows),) = micro_batches(running, end)
        assert rows == 10
    (warning,) = warnings()
    assert "NAME_SERVER" not in warning and warning.startswith("option 'nameServer': ")
    answer_again()
    name_server.routes["Orders"] = [("broker-a", 1, 1, 6), ("broker-b", 1, 1, 6)]
    name_server.addresses["broker-b"] = {0: cluster.address}
    assert "broker-b:0" in running.latestOffset(end, ReadAllAvailable())["Orders"], "it asks again"


def test_a_stream_ends_when_no_name_server_has_answered_for_long(cluster, name_server, stream, monkeypatch):
    running = stream(nameServer=name_server.address, failOnDataLoss="false")
    ((end, _),) = micro_batches(running, START)
    silence(name_server)
    monkeypatch.setattr(cluster_module, "_KNOWN_FOR_S", 0.0)
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_NAME_SERVER_AWAY"):
        running.latestOffset(end, ReadAllAvailable())


def test_a_name_server_and_a_broker_that_are_away_together_do_not_end_a_stream(cluster, name_server, stream, warnings):
    running = stream(nameServer=name_server.address, failOnDataLoss="false")
    ((end, _),) = micro_batches(running, START)
    cluster.high = 20
    both = silence(name_server), silence(cluster)
    assert micro_batches(running, end) == []
    assert len(warnings()) == 2
    for answer_again in both:
        answer_again()
    assert rows_of(micro_batches(running, end)) == [10]


# --- restarts --------------------------------------------------------------------------------------------------------


def pausing(reader, *events):
    """Let each pause between two tries be one of ``events`` instead of time; returns the seconds of each."""
    pauses, waiting, clock = [], list(events), [0.0]

    def sleep(seconds):
        pauses.append(seconds)
        clock[0] += seconds
        if waiting:
            waiting.pop(0)()

    reader._retrying.clock, reader._retrying.sleep = lambda: clock[0], sleep
    return pauses


def restarts(cluster, which):
    """What makes the planner's next request fail, and what makes it succeed again."""
    routes, silent = dict(cluster.routes), []

    def away():
        if which == "name server":
            silent.append(silence(cluster))
        elif which == "broker, still listed":
            cluster.addresses["broker-a"] = {0: "127.0.0.1:1"}
        else:
            cluster.routes.clear()

    def back():
        for answer_again in silent:
            answer_again()
        cluster.addresses["broker-a"] = {0: cluster.address}
        cluster.routes.update(routes)

    return away, back


RESTARTS = ("name server", "broker, still listed", "broker, no longer listed")


@pytest.mark.parametrize("which", RESTARTS)
@pytest.mark.parametrize("how", [{}, {"subscribe": "Orders"}, {"subscribePattern": "Ord.*"}])
def test_a_stream_that_has_begun_waits_while_a_node_restarts(cluster, stream, how, which):
    """Be it at the first request of a query that continues from its checkpoint."""
    running = stream(retryTimeoutMs="60000", **how)
    away, back = restarts(cluster, which)
    away()
    pauses = pausing(running, lambda: None, back)
    assert rows_of(micro_batches(running, START)) == [10]
    assert pauses == [0.25, 0.5]


@pytest.mark.parametrize("which", RESTARTS[:2])
def test_a_stream_that_allows_loss_waits_for_the_nodes_without_which_it_knows_nothing(cluster, stream, which):
    running = stream(retryTimeoutMs="60000", failOnDataLoss="false")
    away, back = restarts(cluster, which)
    away()
    pausing(running, back)
    if which == "name server":
        assert rows_of(micro_batches(running, START)) == [10]
    else:
        assert micro_batches(running, START) == [], "the broker is left out until it is back"


@pytest.mark.parametrize("which", [RESTARTS[0], RESTARTS[2]])  # tasks look for a broker that is listed
def test_a_micro_batch_that_is_repeated_waits_too(cluster, stream, which):
    running = stream(retryTimeoutMs="60000")
    away, back = restarts(cluster, which)
    away()
    pausing(running, back)
    (partition,) = running.partitions(START, {"Orders": {"broker-a:0": 10}})
    assert sum(len(batch) for batch in running.read(partition)) == 10


@pytest.mark.parametrize(("which", "condition"), list(zip(RESTARTS, ("NAME_SERVER", "BROKER", "UNKNOWN"), strict=True)))
def test_a_node_that_stays_away_ends_the_stream_at_the_bound(cluster, stream, which, condition):
    running = stream(retryTimeoutMs="10000")
    away, _ = restarts(cluster, which)
    away()
    pauses = pausing(running)
    with pytest.raises(RocketMQError, match=rf"ROCKETMQ_{condition}_.*; retried for 10000 ms \(option 'retryTime"):
        running.latestOffset(START, ReadAllAvailable())
    assert sum(pauses) == 10.0 and len(pauses) < 10


@pytest.mark.parametrize("fails", ["true", "false"])
@pytest.mark.parametrize("which", RESTARTS)
def test_available_now_that_continues_waits_for_its_ends(cluster, stream, which, fails):
    running = stream(retryTimeoutMs="60000", failOnDataLoss=fails)
    away, back = restarts(cluster, which)
    away()
    pausing(running, lambda: None, back)
    running.prepareForTriggerAvailableNow()
    if fails == "false" and which != "name server":
        assert micro_batches(running, START) == [], "nodes that are not there are left out"
        return
    assert rows_of(micro_batches(running, START)) == [10]
    cluster.high = 20
    assert micro_batches(running, {"Orders": {"broker-a:0": 10}}) == [], "the ends stay"


def test_what_time_does_not_mend_is_not_retried(cluster, stream):
    cluster.low, cluster.high = 1_000, 1_020
    running = stream(retryTimeoutMs="60000")
    pauses = pausing(running)
    with pytest.raises(RocketMQError, match="ROCKETMQ_OFFSETS_GONE"):
        micro_batches(running, START)
    assert pauses == []


# --- messages --------------------------------------------------------------------------------------------------------


def test_a_topic_that_was_made_anew_is_read_from_its_first_message_where_loss_is_allowed(cluster, stream, warnings):
    cluster.high = 3
    lenient = stream(failOnDataLoss="false")
    start = {"Orders": {"broker-a:0": 10}}
    noted = lenient.latestOffset(start, ReadAllAvailable())
    assert noted == START
    assert lenient.reportLatestOffset()["Orders"] == {"broker-a:0": 3}, "no queue ends before what was read"
    assert lenient.partitions(start, noted) == []
    assert micro_batches(lenient, noted) == [({"Orders": {"broker-a:0": 3}}, 3)]
    (warning,) = warnings()
    assert "offset 10 is wanted next, the queue has none from 3 on" in warning


def test_available_now_reads_a_topic_that_was_made_anew(cluster, stream):
    cluster.high = 3
    lenient = stream(failOnDataLoss="false")
    lenient.prepareForTriggerAvailableNow()
    assert rows_of(micro_batches(lenient, {"Orders": {"broker-a:0": 10}})) == [0, 3]


def test_deleted_messages_are_neither_lag_nor_micro_batches(cluster, stream, warnings):
    cluster.low, cluster.high = 1_000, 1_020
    lenient = stream(failOnDataLoss="false")
    batches = micro_batches(lenient, START, ReadMaxRows(10))
    assert batches == [({"Orders": {"broker-a:0": end}}, 10) for end in (1_010, 1_020)]
    (warning,) = warnings()
    assert "offsets 0 to 999 are wanted next and are deleted" in warning


def test_a_queue_whose_messages_are_all_deleted_waits_for_the_next_one(cluster, stream, warnings):
    cluster.low = cluster.high = 1_000
    lenient = stream(failOnDataLoss="false")
    assert micro_batches(lenient, START) == [({"Orders": {"broker-a:0": 1_000}}, 0)]
    assert len(warnings()) == 1


@pytest.mark.parametrize(("fails", "start"), [("false", START), ("true", {}), ("false", {})])
def test_available_now_ends_where_it_shall_though_that_is_deleted(cluster, stream, fails, start):
    """Be it that the queue was read before, or that it is new."""
    running = stream(failOnDataLoss=fails)
    running.prepareForTriggerAvailableNow()
    cluster.low, cluster.high = 500, 510
    assert micro_batches(running, start) == [({"Orders": {"broker-a:0": 10}}, 0)]


def test_deleted_messages_end_a_query_that_allows_no_loss(cluster, stream):
    cluster.low, cluster.high = 1_000, 1_020
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_OFFSETS_GONE.*failOnDataLoss"):
        micro_batches(stream(), START)


def test_a_queue_that_appears_with_old_messages_deleted_is_read_from_its_first_message_on(cluster, stream, warnings):
    """Another broker is added, which had the topic before; nothing is lost that this query should have read."""
    cluster.low, cluster.high = 1_000, 1_010
    start = {"Orders": {"broker-z:0": 0}}
    cluster.routes["Orders"].append(("broker-z", 1, 1, 6))
    with ScriptedBroker(high=0) as other:
        cluster.addresses["broker-z"] = {0: other.address}
        noted, read = micro_batches(stream(), start)
    assert noted == ({"Orders": {"broker-a:0": 1_000, "broker-z:0": 0}}, 0)
    assert read == ({"Orders": {"broker-a:0": 1_010, "broker-z:0": 0}}, 10)
    assert warnings() == []


def test_minima_are_asked_only_of_queues_that_have_moved_and_only_where_loss_is_allowed(cluster, stream):
    for fails, asked in (("true", 0), ("false", 1)):
        cluster.counts.clear()
        ((end, _),) = micro_batches(stream(failOnDataLoss=fails), START)
        assert end == {"Orders": {"broker-a:0": 10}}
        assert cluster.counts[RequestCode.GET_MAX_OFFSET] == 2
        assert cluster.counts.get(RequestCode.GET_MIN_OFFSET, 0) == asked
