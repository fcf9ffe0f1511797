"""Options: every wrong one is named together with what is allowed."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from engine.pipeline.source.cluster.errors import CONDITIONS, RocketMQError, explain
from engine.pipeline.source.decoding.schema import COLUMN_NAMES, KAFKA_COLUMN_NAMES, spark_schema
from engine.pipeline.source.reader.batch_reader import make_reader
from engine.pipeline.source.reader.options import READ_OPTIONS, ReadOptions
from engine.pipeline.source.reader.stream_reader import make_stream_reader

GOOD = {"nameServer": "127.0.0.1:9876", "topic": "Orders"}
PAGE = Path(__file__).parents[5] / "docs" / "pipeline.md"


def parse(**options):
    return ReadOptions.parse({**GOOD, **options})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topik": "x"}, r"'topik': there is no such option; did you mean 'topic'\?"),
        ({"path": "Orders"}, r"'path': topics have no path"),
        ({"nameServer": ""}, r"'nameServer': is missing; write for example '127.0.0.1:9876'"),
        ({"nameServer": "localhost"}, r"'nameServer': 'localhost' is not an address"),
        ({"topic": " "}, r"'topic': is missing; give exactly one"),
        ({"subscribe": "a,b"}, r"'subscribe': topic and subscribe are given"),
        ({"topic": "a,b"}, r"'topic': 'a,b' names several; use subscribe"),
        ({"key": "a b"}, r"'key': 'a b' is not allowed; a key holds no space"),
        ({"includeHeaders": "true"}, r"'includeHeaders': needs kafkaNames=true"),
        ({"kafkaNames": "true", "columns": "body"}, r"'kafkaNames': columns are given as well"),
        (
            {"includeSystemTopics": "true"},
            r"'includeSystemTopics': has no effect without subscribePattern; give both or neither",
        ),
        ({"key": "k", "minPartitions": "1"}, r"'minPartitions': has no effect with key; give one of the two"),
        ({"key": "k", "maxRecordsPerPartition": "9"}, r"'maxRecordsPerPartition': has no effect with key; give one"),
        ({"topic": "a b"}, r"'topic': .*illegal character"),
        ({"topic": "", "subscribePattern": "("}, r"'subscribePattern': '\(' is not a regular expression"),
        ({"startingOffsets": "first"}, r"'startingOffsets': .*; allowed: earliest, latest, or JSON"),
        (
            {"startingOffsets": '{"Orders": {"0": 1}}'},
            r"'startingOffsets': '0' is not a queue; write broker-name:queue",
        ),
        ({"startingOffsets": '{"Orders": {"b:0": -3}}'}, r"the offset of Orders b:0 is -3"),
        ({"startingOffsets": '{"Orders": {"b:0": true}}'}, r"the offset of Orders b:0 is True"),
        ({"startingOffsets": '{"Orders": 3}'}, r"topic 'Orders' needs an object"),
        ({"nameServer": " ,;"}, r"'nameServer': ',;' names no address"),
        ({"startingOffsets": "[" * 100_000}, r"'startingOffsets': it is nested too deep; allowed: earliest, latest"),
        ({"startingOffsets": "[]"}, r"an object .* is needed"),
        ({"startingOffsets": '{"Other": {"b:0": 1}}'}, r"Other b:0 is not among the topics that are read: Orders"),
        ({"topic": "", "assign": '{"Orders": 3}'}, r"'assign': .* is not allowed; allowed: JSON such as .*broker-a:0"),
        ({"topic": "", "assign": '["Orders"]'}, r"'assign': .* is not allowed; allowed: JSON such as"),
        ({"topic": "", "assign": '{"Orders": ["0"]}'}, r"'assign': .* is not allowed; allowed: JSON such as"),
        ({"topic": "", "assign": "{}"}, r"'assign': '{}' names no topic"),
        ({"assign": '{"Orders": ["b:0"]}'}, r"'assign': topic and assign are given"),
        ({"startingOffsetsByTimestamp": "earliest"}, r"'startingOffsetsByTimestamp': Expecting value.*; allowed: JSON"),
        (
            {"startingOffsetsByTimestamp": '{"Orders": {"b:0": -1}}'},
            r"'startingOffsetsByTimestamp': .* is not allowed; allowed: milliseconds since 1970 for each queue",
        ),
        (
            {
                "startingOffsetsByTimestamp": '{"Orders": {"b:0": 8}}',
                "endingOffsetsByTimestamp": '{"Orders": {"b:0": 7}}',
            },
            r"'startingOffsetsByTimestamp': Orders b:0: time 8 is after the end, time 7 by option 'endingOffsetsBy",
        ),
        (
            {"maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "6"},
            r"'minOffsetsPerTrigger': '6' is not allowed; allowed: an integer from 1 to 5",
        ),
        ({"maxTriggerDelay": "soon"}, r"'maxTriggerDelay': 'soon' is not allowed; allowed: a number with ms, s, m"),
        ({"columns": "properties."}, r"'columns': there is no column 'properties.'; allowed: .*, properties.NAME"),
        ({"startingOffsets": "latest", "startingTimestamp": "5"}, r"startingOffsets and startingTimestamp are given"),
        (
            {"startingTimestamp": "6", "endingTimestamp": "5"},
            r"'startingTimestamp': 6 is after the end, 5 by option 'endingTimestamp'; allowed: the end or before",
        ),
        (
            {"startingOffsets": '{"Orders": {"b:0": 8}}', "endingOffsets": '{"Orders": {"b:1": 9, "b:0": 7}}'},
            r"'startingOffsets': Orders b:0: offset 8 is after the end, offset 7 by option 'endingOffsets'",
        ),
        ({"endingOffsets": '{"Orders": {"b:0": -2}}'}, r"'endingOffsets': -2 would leave nothing to read of its queue"),
        ({"endingOffsets": "earliest"}, r"'endingOffsets': earliest would leave nothing"),
        ({"endingOffsets": "first"}, r"'endingOffsets': .*; allowed: latest, or JSON such as {[^2]*$"),
        (
            {"startingTimestamp": "yesterday"},
            r"'startingTimestamp': 'yesterday' is not allowed; allowed: an integer from 0",
        ),
        ({"maxOffsetsPerTrigger": "0"}, r"'maxOffsetsPerTrigger': '0' is not allowed; allowed: an integer from 1"),
        ({"minPartitions": "100001"}, r"'minPartitions': .* from 1 to 100000"),
        ({"failOnDataLoss": "no"}, r"'failOnDataLoss': 'no' is not allowed; allowed: true or false"),
        (
            {"columns": "body,tag"},
            r"'columns': there is no column 'tag'; allowed: topic, .*, body, key, value, .*, headers, ",
        ),
        ({"tags": "A || "}, r"'tags': 'A \|\|' is not allowed"),
        (
            {"consumerGroup": "a b"},
            r"'consumerGroup': the group name 'a b' holds an illegal character; allowed: letters[^;]*$",
        ),
        ({"commitGroup": "a" * 256}, r"'commitGroup': the group name has 256 characters; allowed: at most 255$"),
        ({"accessKey": "a"}, r"'secretKey': accessKey and secretKey go together"),
        ({"tlsCa": "x", "useTls": "false"}, r"'tlsCa': is given, but useTls is false"),
        ({"tlsKey": "x"}, r"'tlsCertificate': tlsCertificate and tlsKey go together"),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(options, said):
    with pytest.raises(RocketMQError, match=rf"^\[ROCKETMQ_WRONG_OPTION\] option .*{said}"):
        parse(**options)


def test_names_are_taken_in_any_case_and_those_of_spark_itself_are_left_alone():
    options = ReadOptions.parse({"NAMESERVER": "h:1;g:2", "subscribe": "a, b,a", "checkpointlocation": "/x"})
    assert options.cluster.name_servers == ("h:1", "g:2")
    assert options.topics == ("a", "b")


def test_columns_come_in_the_order_that_was_asked_for():
    assert parse(columns="body, topic").columns == ("body", "topic")
    assert parse().columns == COLUMN_NAMES


@pytest.mark.parametrize(
    ("text", "ms"), [("90000", 90_000), ("5 S", 5_000), ("15m", 900_000), ("2min", 120_000), ("1h", 3_600_000)]
)
def test_a_delay_is_a_number_with_a_unit(text, ms):
    assert parse(maxTriggerDelay=text).max_trigger_delay_ms == ms
    assert parse().max_trigger_delay_ms == 900_000, "Kafka's default"


def test_a_tag_expression_is_a_list_of_tags():
    assert parse(tags="A||B || A").tags == ("A", "B")
    assert parse(tags="*").tags == ()


def test_options_of_tls_switch_it_on():
    assert parse().cluster.tls is None
    tls = parse(tlsCa="/ca.pem", tlsCheckHost="false").cluster.tls
    assert tls is not None
    assert (tls.ca, tls.verify, tls.check_host) == (Path("/ca.pem"), True, False)


def test_secrets_are_in_no_text_of_the_options():
    options = parse(accessKey="visible", secretKey="hidden-1", securityToken="hidden-2")
    assert "hidden" not in repr(options)


def test_options_travel_to_the_executors():
    options = parse(startingOffsets='{"Orders": {"b:0": 5}}', tlsCa="/ca.pem")
    assert pickle.loads(pickle.dumps(options)) == options


# --- errors ----------------------------------------------------------------------------------------------------------


def test_an_error_is_one_line_and_a_condition_of_sparks_kind():
    error = RocketMQError("ROCKETMQ_REFUSED", "two\n lines")
    assert str(error) == "[ROCKETMQ_REFUSED] two lines"
    assert error.getCondition() == "ROCKETMQ_REFUSED"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_line_is_found_within_what_spark_makes_of_it():
    line = "[ROCKETMQ_BROKER_AWAY] topic 'T': broker 'b' does not answer"
    wrapped = RuntimeError(
        f"[PYTHON_DATA_SOURCE_ERROR] Failed:\nTraceback\n  x.RocketMQError: {line}\n SQLSTATE: 38000"
    )
    assert explain(wrapped) == line
    outer = ValueError("outer")
    outer.__cause__ = wrapped
    assert explain(outer) == line
    assert explain(ValueError("[OTHER_CONDITION] x")) is None


def test_every_option_column_and_condition_is_documented():
    section = PAGE.read_text("utf-8").split("## Data source")[1].split("\n## ")[0]
    for name in (*(field.name for field in READ_OPTIONS), *COLUMN_NAMES, *CONDITIONS):
        assert re.search(rf"^\|.*`{name}`", section, re.MULTILINE), f"docs/pipeline.md says nothing of {name}"


TRIGGERS = {
    "maxOffsetsPerTrigger": "9",
    "maxBytesPerTrigger": "9",
    "minOffsetsPerTrigger": "9",
    "maxTriggerDelay": "9s",
    "retryTimeoutMs": "9",
}


@pytest.mark.parametrize("names", [*((name,) for name in TRIGGERS), tuple(TRIGGERS)])
def test_a_batch_ignores_options_of_streams_with_a_warning(caplog, names):
    make_reader(spark_schema(), GOOD)
    assert "ignored" not in caplog.text
    make_reader(spark_schema(), {**GOOD, **{name: TRIGGERS[name] for name in names}})
    assert f"options of streams are ignored in a batch: {', '.join(names)}\n" in caplog.text


def test_a_delay_without_a_minimum_is_refused_in_a_stream():
    with pytest.raises(RocketMQError, match="'maxTriggerDelay': has no effect without minOffsetsPerTrigger; give both"):
        make_stream_reader(spark_schema(), {**GOOD, "maxTriggerDelay": "9s"})
    make_stream_reader(spark_schema(), {**GOOD, **TRIGGERS})


@pytest.mark.parametrize("make", [make_reader, make_stream_reader])
def test_columns_and_a_schema_with_others_are_refused(make):
    options = {**GOOD, "columns": "topic, body"}
    make(spark_schema(("topic", "body")), options)
    make(spark_schema(("tags",)), GOOD)
    with pytest.raises(RocketMQError, match=r"'columns': schema\(...\) names other columns: tags; give one of the two"):
        make(spark_schema(("tags",)), options)
    kafka = {**GOOD, "kafkaNames": "true"}
    make(spark_schema(KAFKA_COLUMN_NAMES), kafka)
    with pytest.raises(
        RocketMQError, match=r"'kafkaNames': schema\(...\) names other columns: body; give one of the two"
    ):
        make(spark_schema(("body",)), kafka)


def test_switches_that_are_off_contradict_nothing():
    parse(includeSystemTopics="False", includeHeaders="false")
