"""Programs that articles on RocketMQ print, on its own Java client: what each prints, and where it cannot work.

``docs/examples/README.md`` has the table of them. The transactional producer and its consumer are run by
``test_java_transactions.py``, on the real broker too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients
from tests.interop.harness.cluster import NO_SETTINGS, Cluster
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.rocketmq_jars import Jars, driver_jars, executer_driver_jars
from tests.interop.harness.wire import (
    RequestRefused,
    committed_offset,
    max_offsets,
    queues_of_members,
    send_message,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

_DEADLINE_S = 90.0
_QUEUES = 4
_WITH_SQL = {"enablePropertyFilter": "true"}
TAGGED = ["myTagA"] * 4 + ["myTagB"] * 3
AGED = [str(age) for age in range(7)]

StartClients = Callable[..., Clients]


@pytest.fixture
def start_clients(start_cluster: Callable[..., Cluster], tmp_path: Path) -> Iterator[StartClients]:
    """Starts a broker of the test's own, with ``topics``: all programs share the names of topics and groups."""
    started: list[Clients] = []

    def start(*topics: str, settings: Mapping[str, str] = NO_SETTINGS) -> Clients:
        clients = Clients(start_cluster(tmp_path, settings=settings), tmp_path)
        started.append(clients)
        for topic in topics:
            clients.cluster.create_topic(topic, _QUEUES)
        return clients

    yield start
    for clients in started:
        clients.stop_all()
        clients.cluster.stop()


def _consumer(clients: Clients, class_name: str, mended: tuple[str, str] | None = None) -> ManagedProcess:
    consumer = clients.article_program(class_name, mended=mended)
    consumer.wait_for_output("^Consumer Started$", _DEADLINE_S)
    return consumer


def _send(clients: Clients, class_name: str) -> None:
    output = clients.article_program(class_name).wait_for_success(_DEADLINE_S)
    assert len(re.findall(r"^SendResult \[sendStatus=SEND_OK,", output, re.MULTILINE)) == 10, output


def _printed(consumer: ManagedProcess, name: str) -> list[str]:
    """The values of a property of all messages that it printed; the queue of a message is printed before those."""
    return sorted(re.findall(rf"^MessageExt \[.*\b{name}=(\w+)", consumer.output(), re.MULTILINE))


def _wait_for(consumer: ManagedProcess, name: str, values: list[str]) -> None:
    wait_until(lambda: len(_printed(consumer, name)) >= len(values), f"{values}", _DEADLINE_S, consumer.output_end)
    assert _printed(consumer, name) == values


# --- batches ---------------------------------------------------------------------------------------------------------


def test_the_batch_producer_sends_one_batch_and_the_batch_consumer_waits_at_another_topic(
    start_clients: StartClients,
) -> None:
    clients = start_clients("someTopic", "someTopicA")
    output = clients.article_program("BatchProducer").wait_for_success(_DEADLINE_S)
    assert "Exception" not in output
    assert sorted(max_offsets(clients.cluster.broker, "someTopic", _QUEUES)) == [0, 0, 0, 100]

    consumer = _consumer(clients, "BatchConsumer")
    send_message(clients.cluster.broker, "someTopicA", b"not of the producer")
    consumer.wait_for_output(r"^MessageExt \[.*topic='someTopicA'", _DEADLINE_S)
    assert len(re.findall(r"^MessageExt \[", consumer.output(), re.MULTILINE)) == 1
    consumer.stop()

    mended = _consumer(clients, "BatchConsumer", ("someTopicA", "someTopic"))
    mended.wait_for_output(r"^MessageExt \[.*topic='someTopic'.*TAGS=someTag", _DEADLINE_S, at_least=100)


def test_the_printed_splitter_makes_batches_that_the_client_refuses_and_the_mended_one_does_not(
    start_clients: StartClients,
) -> None:
    clients = start_clients("someTopic")
    sizes = (2, 100, 1_000, 10_000, 100_000)
    output = clients.article_program("LongLists", *sizes).wait_for_success(_DEADLINE_S)
    outcomes = {
        (splitter, int(size)): re.findall(r"SEND_OK|CODE: 13 ", outcome)
        for splitter, size, outcome in re.findall(r"^(printed|mended) (\d+) (.*)$", output, re.MULTILINE)
    }
    first = {key: outcome[0] for key, outcome in outcomes.items()}
    assert first == {
        **{("printed", size): "CODE: 13 " for size in sizes[:-1]},
        ("printed", 100_000): "SEND_OK",
        **{("mended", size): "SEND_OK" for size in sizes},
    }
    assert {
        outcome for (splitter, _), all_of_it in outcomes.items() if splitter == "mended" for outcome in all_of_it
    } == {"SEND_OK"}
    assert "the message body size over max value, MAX: 4194304" in output


# --- filters ---------------------------------------------------------------------------------------------------------


def test_each_filter_consumer_by_itself_prints_what_its_filter_lets_through(start_clients: StartClients) -> None:
    clients = start_clients("myTopic", settings=_WITH_SQL)
    by_tag = _consumer(clients, "FilterByTagConsumer")
    _send(clients, "FilterByTagProducer")
    _wait_for(by_tag, "TAGS", TAGGED)
    by_tag.stop()
    by_sql = _consumer(clients, "FilterBySQLConsumer")
    _send(clients, "FilterBySQLProducer")
    _wait_for(by_sql, "age", AGED)
    assert set(_printed(by_sql, "TAGS")) == {"myTag"}


def test_a_broker_without_property_filters_refuses_the_sql_consumer(start_clients: StartClients) -> None:
    clients = start_clients("myTopic", settings={"enablePropertyFilter": "false"})
    consumer = clients.article_program("FilterBySQLConsumer")
    consumer.wait_for_output(r"CODE: 1 +DESC: .*SQL92", _DEADLINE_S)
    assert "Consumer Started" not in consumer.output()


def test_two_filters_in_one_group_lose_messages_to_each_other(start_clients: StartClients) -> None:
    """The broker has one subscription for both, whichever was announced last, and each gets half of the queues."""
    clients = start_clients("myTopic", settings=_WITH_SQL)
    broker = clients.cluster.broker
    by_tag, by_sql = _consumer(clients, "FilterByTagConsumer"), _consumer(clients, "FilterBySQLConsumer")

    def queues_are_shared() -> bool:
        try:
            return [len(queues) for queues in queues_of_members(broker, "pg", "myTopic")] == [2, 2]
        except (RequestRefused, OSError):
            return False  # a member that does not answer yet

    wait_until(queues_are_shared, "two queues each", _DEADLINE_S, lambda: _ends(by_tag, by_sql))
    _send(clients, "FilterByTagProducer")
    _send(clients, "FilterBySQLProducer")

    def all_is_consumed() -> bool:
        committed = [committed_offset(broker, "pg", "myTopic", queue) for queue in range(_QUEUES)]
        return committed == max_offsets(broker, "myTopic", _QUEUES)

    wait_until(all_is_consumed, "the group to be at the end", _DEADLINE_S, lambda: _ends(by_tag, by_sql))
    # Every queue has messages for either of the two.
    assert len(_printed(by_tag, "TAGS")) < len(TAGGED)
    assert set(_printed(by_sql, "age")) < set(AGED)


def _ends(*consumers: ManagedProcess) -> str:
    return "\n".join(consumer.output_end(1_000) for consumer in consumers)


def test_two_filters_in_two_groups_get_all_of_theirs(start_clients: StartClients) -> None:
    clients = start_clients("myTopic", settings=_WITH_SQL)
    by_tag = _consumer(clients, "FilterByTagConsumer")
    by_sql = _consumer(clients, "FilterBySQLConsumer", ('"pg"', '"pg_sql"'))
    _send(clients, "FilterByTagProducer")
    _send(clients, "FilterBySQLProducer")
    _wait_for(by_tag, "TAGS", TAGGED)
    _wait_for(by_sql, "age", AGED)


# --- LocalTransactionExecuter ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("jars", [executer_driver_jars, driver_jars], ids=["4.2.0", "newest"])
def test_a_local_transaction_executer_decides_and_the_check_listener_answers_for_it(
    start_clients: StartClients, jars: Callable[[], Jars]
) -> None:
    clients = start_clients("TTopic", settings={"transactionTimeOut": "2000", "transactionCheckInterval": "2000"})
    consumer = _consumer(clients, "SomeConsumer")
    producer = clients.article_program("LocalTransactionExecuterProducer", jars=jars())
    producer.wait_for_output("^checked TAG[CD]$", _DEADLINE_S, at_least=2)
    assert re.findall(r"^(?:refused:|TAG.) .*$", producer.output(), re.MULTILINE) == [
        "refused: localTransactionBranchCheckListener is null",
        "TAGA COMMIT_MESSAGE",
        "TAGB ROLLBACK_MESSAGE",
        "TAGC UNKNOW",
        "TAGD UNKNOW",
    ]
    _wait_for(consumer, "TAGS", ["TAGA", "TAGC", "TAGD"])
    assert sorted(re.findall("^checked (.*)$", producer.output(), re.MULTILINE)) == ["TAGC", "TAGD"]
