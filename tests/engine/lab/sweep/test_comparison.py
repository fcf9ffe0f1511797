"""One scenario with several values of a setting: figures from the engine, and what the trade-offs of batches are."""

from __future__ import annotations

import pytest

from engine.lab.scenario.errors import CommandRefused, SettingRefused
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.client_figures import ConsumerFigures, ProducerFigures
from engine.lab.sweep.comparison import Change, node_to_watch, parse_values, run_with, with_change
from tests.support.lab.lab_scenarios import SMALL, small


def consumer_figures(scenario: Scenario, change: Change) -> ConsumerFigures:
    figures = run_with(scenario, change).figures
    assert isinstance(figures, ConsumerFigures)
    return figures


def producer_figures(scenario: Scenario, change: Change) -> ProducerFigures:
    figures = run_with(scenario, change).figures
    assert isinstance(figures, ProducerFigures)
    return figures


@pytest.fixture(scope="module")
def trade_offs():
    return load_scenario("batch-trade-offs")


@pytest.fixture(scope="module")
def by_pull_size(trade_offs):
    return {size: consumer_figures(trade_offs, Change("C1", "pullBatchSize", size)) for size in (1, 8, 32, 40)}


@pytest.fixture(scope="module")
def by_batch_size(trade_offs):
    name = "consumeMessageBatchMaxSize"
    return {size: consumer_figures(trade_offs, Change("C1", name, size)) for size in (1, 4, 32)}


def test_a_larger_pull_takes_fewer_calls_but_longer_and_loses_more_at_a_cut(by_pull_size):
    small_pulls, medium, large = (by_pull_size[size] for size in (1, 8, 32))
    assert small_pulls.pulls > 4 * medium.pulls > 8 * large.pulls
    assert 5 < small_pulls.pull_ms < medium.pull_ms / 5 < large.pull_ms / 12
    # Two queues: the cut hits a reply of each.
    assert [figures.pulled_again for figures in (small_pulls, medium, large)] == [2, 16, 64]


def test_the_broker_gives_32_messages_however_many_are_wanted(by_pull_size):
    assert [by_pull_size[size].largest_pull for size in (1, 8, 32, 40)] == [1, 8, 32, 32]
    assert by_pull_size[40] == by_pull_size[32]


def test_larger_batches_spare_calls_until_too_few_threads_have_work(by_batch_size):
    single, few, many = (by_batch_size[size] for size in (1, 4, 32))
    assert single.calls > 3 * few.calls > 6 * many.calls
    assert few.per_second > single.per_second > many.per_second
    assert single.threads_busy > few.threads_busy > many.threads_busy


def test_three_failures_bring_back_three_batches(by_batch_size):
    assert by_batch_size[4].without_need < 3 * 4 + 4
    assert by_batch_size[32].without_need > 2 * 31
    assert by_batch_size[1].without_need <= 1  # what the cut hit on its way may come twice anyway
    assert all(figures.never_consumed == 0 and figures.messages == 240 for figures in by_batch_size.values())


def test_batches_spare_requests_and_bytes_but_their_senders_wait_longer(trade_offs):
    few, many = (producer_figures(trade_offs, Change("P1", "batch", size)) for size in (4, 64))
    assert (few.requests, many.requests) == (60, 4)
    assert few.messages == many.messages == 240
    assert few.bytes_per_message > many.bytes_per_message > 4_000
    assert few.per_second < many.per_second
    assert few.reply_ms < many.reply_ms / 5


def test_the_same_value_gives_the_same_figures_and_the_scenario_stays_as_it_is(trade_offs, by_pull_size):
    again = run_with(trade_offs, Change("C1", "pull_batch_size", 8))
    assert again.figures == by_pull_size[8]
    assert again.violations == 0
    assert trade_offs == load_scenario("batch-trade-offs")


def test_redeliveries_after_a_failure_are_counted_and_what_is_never_consumed():
    doomed = small(
        ("listener: {duration_ms: 20}", "listener: {duration_ms: 20, result: later, only_keys: [k-3]}"),
        ("retry_max_times: 3", "retry_max_times: 1"),
    )
    figures = consumer_figures(doomed, Change("C1", "max_reconsume_times", 1))
    assert (figures.messages, figures.consumed_again, figures.without_need, figures.never_consumed) == (19, 1, 0, 1)


def test_values_are_read_as_what_the_setting_is():
    scenario = small()
    assert parse_values(scenario, "C1", "pullBatchSize", "1, 8,32") == [1, 8, 32]
    assert parse_values(scenario, "C1", "threads", "4") == [4]
    assert parse_values(scenario, "C1", "post_subscription_when_pull", "true,false") == [True, False]
    assert parse_values(scenario, "B1", "messageDelayLevel", "1s 2s") == ["1s 2s"]
    assert with_change(scenario, Change("C1", "threads", 4)).spec_of(ConsumerSpec, "C1").threads == 4
    assert with_change(scenario, Change("P1", "body_bytes", 9)).spec_of(ProducerSpec, "P1").traffic[0].body_bytes == 9


@pytest.mark.parametrize(
    ("node", "name", "text", "words"),
    [
        ("C9", "threads", "1", ["no node 'C9'", "N1, B1, P1, C1"]),
        ("C1", "pullBatchSiz", "1", ["no setting 'pullBatchSiz'", "pull_batch_size"]),
        ("C1", "pullBatchSize", "1,x", ["pullBatchSize", "an integer", "'x'"]),
        ("C1", "pullBatchSize", "1_0", ["pullBatchSize", "an integer", "'1_0'"]),
        ("C1", "pullBatchSize", "2000", ["pull_batch_size must be 1 to 1024"]),
        ("C1", "threads", "65", ["threads", "65", "1 to 64"]),
        ("P1", "batch", "0", ["batch", "1 to 1024"]),
        ("C1", "pullBatchSize", " , ", ["0 values given; allowed: 1 to 20"]),
        ("C1", "pullBatchSize", ",".join("1" * 21), ["21 values"]),
        ("C1", "post_subscription_when_pull", "yes", ["post_subscription_when_pull", "true or false", "'yes'"]),
    ],
)
def test_what_cannot_be_compared_is_said(node, name, text, words):
    with pytest.raises((CommandRefused, SettingRefused)) as raised:
        parse_values(small(), node, name, text)
    for word in words:
        assert word in str(raised.value)
        assert raised.value.text["zh"]


@pytest.mark.parametrize(
    ("scenario", "name", "text", "words"),
    [
        ("unknown-and-check-back", "batch", "1,2", ["batch is not allowed", "transactional"]),
        ("bank-transaction", "batch", "4", ["batch is not allowed", "transactional"]),
        ("selector-and-queue-count", "batch", "4", ["'by-hash' is not allowed with batch"]),
        ("batch-trade-offs", "body_bytes", "4000,5000000", ["1,200,000,000 bytes of 240 messages", "64,000,000"]),
    ],
)
def test_a_comparison_makes_no_traffic_that_a_scenario_may_not_have(scenario, name, text, words):
    with pytest.raises(SettingRefused) as raised:
        parse_values(load_scenario(scenario), "P1", name, text)
    assert all(word in str(raised.value) for word in words)


def test_a_brokers_setting_is_reported_by_a_consumer():
    assert node_to_watch(small(), "B1").name == "C1"
    assert node_to_watch(small(), "P1").name == "P1"
    figures = consumer_figures(small(), Change("B1", "maxTransferCountOnMessageInMemory", 2))
    assert figures.largest_pull <= 2
    begin, end = SMALL.index("  P1:"), SMALL.index("topics:")
    lonely = parse_scenario(SMALL[:begin] + SMALL[end:], "lonely")
    with pytest.raises(CommandRefused, match="B1 is not a client"):
        node_to_watch(lonely, "B1")


def test_pulls_of_the_retry_topic_and_the_last_tenth_do_not_count(trade_offs):
    """Three messages come back: 242 pulls bring each message once and two again, and none of them is a retry."""
    figures = consumer_figures(trade_offs, Change("C1", "pullBatchSize", 1))
    assert figures.pulls == figures.messages + figures.pulled_again
    assert figures.per_second == pytest.approx(216 / figures.seconds, rel=1e-2)
