"""``NAME=VALUE`` settings of the command line."""

import dataclasses

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.live.engine_settings import BadSetting, apply_settings, java_style_name
from engine.store.files.store_config import FlushDiskType, MessageStoreConfig


@pytest.mark.parametrize(
    ("config", "assignment", "field", "value"),
    [
        (BrokerConfig(), "autoCreateTopicEnable=false", "auto_create_topic_enable", False),
        (BrokerConfig(), "auto_create_topic_enable=FALSE", "auto_create_topic_enable", False),
        (BrokerConfig(), "defaultTopicQueueNums=4", "default_topic_queue_nums", 4),
        (BrokerConfig(), " brokerIP1 = 10.0.0.1 ", "broker_ip1", "10.0.0.1"),
        (BrokerConfig(), "registerNameServerPeriod=5000", "register_name_server_period_ms", 5000),
        (MessageStoreConfig(), "fileReservedTime=24", "file_reserved_time_hours", 24),
        (MessageStoreConfig(), "mappedFileSizeCommitLog=1048576", "mapped_file_size_commit_log", 1048576),
        (MessageStoreConfig(), "diskMaxUsedSpaceRatio=0.5", "disk_max_used_space_ratio", 0.5),
        (MessageStoreConfig(), "diskMaxUsedSpaceRatio=75", "disk_max_used_space_ratio", 0.75),
        (MessageStoreConfig(), "mappedFileSizeConsumeQueue=6000000", "mapped_file_size_consume_queue_entries", 300_000),
        (MessageStoreConfig(), "flushDiskType=SYNC_FLUSH", "flush_disk_type", FlushDiskType.SYNC_FLUSH),
        (MessageStoreConfig(), "flushDiskType=sync", "flush_disk_type", FlushDiskType.SYNC_FLUSH),
    ],
)
def test_a_setting_is_taken_in_rocketmq_s_name_and_in_ours(config, assignment, field, value):
    assert getattr(apply_settings(config, [assignment], {}), field) == value


@pytest.mark.parametrize("config", [BrokerConfig(), MessageStoreConfig()])
def test_every_field_can_be_named_in_both_ways(config):
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, bool | int | float | str):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            for name in (field.name, java_style_name(field.name)):
                assert getattr(apply_settings(config, [f"{name}={text}"], {}), field.name) == value


@pytest.mark.parametrize(
    ("assignment", "parts"),
    [
        ("autoCreateTopic=true", ["autoCreateTopic", "did you mean autoCreateTopicEnable?", "configuration.md"]),
        ("xyzzy=1", ["'xyzzy'", "allowed are:", "\n  brokerIP1\n", "\n  traceOn\n"]),
        ("bindAddress=::1", ["bindAddress", "--host"]),
        ("", ["NAME=VALUE"]),
        ("traceOn", ["NAME=VALUE"]),
        ("traceOn=maybe", ["traceOn", "true, false"]),
        ("defaultTopicQueueNums=x", ["defaultTopicQueueNums", "whole number"]),
        ("defaultTopicQueueNums=-1", ["defaultTopicQueueNums", "not negative"]),
        ("defaultTopicQueueNums=99999999999999999999", ["defaultTopicQueueNums"]),
        ("defaultTopicQueueNums=1_0", ["defaultTopicQueueNums='1_0'", "whole number"]),
        ("defaultTopicQueueNums=٤", ["defaultTopicQueueNums='٤'", "whole number"]),
        ("haListenPort=65536", ["haListenPort='65536'", "1 to 65535"]),
        ("brokerPermission=8", ["brokerPermission='8'", "0 to 7"]),
        ("replicaCount=10", ["replicaCount='10'", "1 to 9"]),
        ("registerNameServerPeriod=0", ["registerNameServerPeriod='0'", "at least 1"]),
        ("listenPort=1", ["listenPort", "--broker-port"]),
        ("port=1", ["port", "--broker-port"]),
        ("maxUnsentBytes=0", ["maxUnsentBytes='0'", "at least 4194304"]),
        ("maxUnsentBytes=1", ["maxUnsentBytes='1'", "at least 4194304"]),
        ("maxFilterWordsPerSecond=0", ["maxFilterWordsPerSecond='0'", "at least 1"]),
        ("groupHeartbeatInterval=0", ["groupHeartbeatInterval is 0", "at least 10"]),
        ("groupHeartbeatInterval=500", ["groupHeartbeatInterval is 500", "allowed: at least 10"]),
        ("groupElectionTimeoutMin=3000", ["groupElectionTimeoutMax 2000", "at least the second"]),
    ],
)
def test_an_unusable_setting_is_refused_by_name_with_what_is_allowed(assignment, parts):
    with pytest.raises(BadSetting) as refusal:
        apply_settings(BrokerConfig(), [assignment], {"port": "--broker-port", "host": "--host"})
    for part in parts:
        assert part in str(refusal.value)


@pytest.mark.parametrize(
    "assignment",
    [
        "mappedFileSizeCommitLog=0",
        "deleteWhen=25",
        "deleteWhen=²",
        "messageDelayLevel=",
        "messageDelayLevel=²s",
        "diskMaxUsedSpaceRatio=nan",
        "diskMaxUsedSpaceRatio=inf",
        "diskMaxUsedSpaceRatio=0",
        "diskMaxUsedSpaceRatio=0_1",
        "diskMaxUsedSpaceRatio=101",
    ],
)
def test_a_value_that_the_store_refuses_is_refused(assignment):
    with pytest.raises(BadSetting, match=assignment.partition("=")[0]):
        apply_settings(MessageStoreConfig(), [assignment], {})


def test_the_given_config_stays_as_it_was():
    config = BrokerConfig()
    apply_settings(config, ["traceOn=false"], {})
    assert config == BrokerConfig()


def test_the_times_of_transactions_may_be_given_in_seconds_as_many_a_broker_conf_gives_them():
    seconds = ["transactionTimeout=20", "transactionCheckMax=5", "transactionCheckInterval=10"]
    config = apply_settings(BrokerConfig(), seconds, {})
    assert (config.transaction_time_out_ms, config.transaction_check_interval_ms) == (20_000, 10_000)
    assert config.transaction_check_max == 5
    milliseconds = ["transactionTimeOut=20000", "transactionCheckInterval=10000"]
    assert apply_settings(BrokerConfig(transaction_check_max=5), milliseconds, {}) == config
