"""RocketMQ's Java client sends in transactions, to GlassMQ and to the real broker: both end with the same result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.harness.clients import Clients, messages
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.wire import commit_transaction, max_offsets, send_message
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

_DEADLINE_S = 90.0
HALF_TOPIC, OP_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARDED_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"

BOTH = pytest.mark.parametrize("kind", ["glassmq", "real"])
_KINDS: Mapping[str, Callable[..., Cluster]] = {"glassmq": start_glassmq, "real": start_real_rocketmq}

StartClients = Callable[[str, Mapping[str, str]], Clients]


@pytest.fixture
def start_clients(tmp_path: Path) -> Iterator[StartClients]:
    """Starts a broker of a kind, with settings, and whatever clients a test wants for it."""
    started: list[Clients] = []

    def start(kind: str, settings: Mapping[str, str]) -> Clients:
        folder = tmp_path / kind
        folder.mkdir()
        clients = Clients(_KINDS[kind](folder, settings=settings), folder)
        started.append(clients)
        return clients

    yield start
    for clients in started:
        clients.stop_all()
        clients.cluster.stop()


def warm_up(clients: Clients) -> None:
    """Programs that leave the time-out of a send at 3 s would fail on a broker that has just started."""
    wait_until(lambda: send_message(clients.cluster.broker, "WarmUp", b"x"), "the broker to take a message")


def _stored(clients: Clients, topic: str, queues: int = 1) -> int:
    return sum(max_offsets(clients.cluster.broker, topic, queues))


# --- the example -----------------------------------------------------------------------------------------------------

#: A check every 2 s of what is older than 2 s, three at most.
_HASTY = {"transactionTimeOut": "2000", "transactionCheckInterval": "2000", "transactionCheckMax": "3"}


@pytest.mark.parametrize(("kind", "binary"), [("glassmq", False), ("glassmq", True), ("real", False)])
def test_the_transaction_example_ends_as_its_checks_are_answered(
    start_clients: StartClients, kind: str, binary: bool
) -> None:
    """It answers UNKNOW first, then by the message's number: UNKNOW forever, commit, rollback, and round again."""
    clients = start_clients(kind, _HASTY)
    consumer = clients.java_driver("push", "shipping", "TopicTest1234", binary=binary)
    producer = clients.java_example("transaction.TransactionProducer", binary=binary)
    producer.wait_for_output(r"sendStatus=SEND_OK", _DEADLINE_S, at_least=10)
    wait_until(lambda: _stored(clients, DISCARDED_TOPIC) == 4, "four messages to be given up", seen=producer.output_end)
    wait_until(lambda: len(messages(consumer)) >= 3, "three messages", seen=consumer.output_end)
    consumed = Counter(event["body"] for event in messages(consumer))
    assert consumed == Counter({f"Hello RocketMQ {number}": 1 for number in (1, 4, 7)})
    assert _stored(clients, OP_TOPIC) == 6, "each message that was decided has its op message"
    # Being asked about costs a half message its place: ten, six asked once, four asked three times.
    assert _stored(clients, HALF_TOPIC) == 10 + 6 + 4 * 3
    assert "xception" not in producer.output()


# --- two decisions ----------------------------------------------------------------------------------------------------


@BOTH
def test_a_slow_local_transaction_and_a_second_end_transaction_have_a_message_delivered_again(
    start_clients: StartClients, kind: str
) -> None:
    """The check comes while it works, and gives the half message another place; END_TRANSACTION names the old one."""
    # GlassMQ does so only if it is configured to; the real broker does not know the setting, and does.
    clients = start_clients(kind, {**_HASTY, "transactionCheckMax": "15", "commitTransactionOnce": "false"})
    topic = clients.cluster.create_topic("Payments", queues=1)
    consumer = clients.java_driver("push", "shipping", topic)
    consumer.wait_for_output('"ready"', _DEADLINE_S)
    producer = clients.java_driver("transaction", "payers", topic, 7000)
    wait_until(lambda: len(messages(consumer)) == 2, "it to come twice", _DEADLINE_S, producer.output_end)
    checks = [event for event in producer.events() if event["event"] == "checked"]
    assert [check["state"] for check in (checks[0], checks[-1])] == ["UNKNOW", "COMMIT_MESSAGE"]

    newest = checks[-1]
    commit_transaction(clients.cluster.broker, "payers", newest["half_offset"], newest["log_offset"])
    wait_until(lambda: len(messages(consumer)) == 3, "it to come a third time", _DEADLINE_S, consumer.output_end)
    assert {event["body"] for event in messages(consumer)} == {"message-0"}
    assert len({event["id"] for event in messages(consumer)}) == 1, "by its id a consumer knows it again"


# --- the benchmark ---------------------------------------------------------------------------------------------------


class Window(NamedTuple):
    """One line of the benchmark, each over the ten seconds before it."""

    sent_per_second: int
    failed: int
    checks: int
    unexpected_checks: int
    duplicated_checks: int


_WINDOW = re.compile(
    r"Send TPS: *(\d+).*?Send Failed: *(\d+).*?check: *(\d+).*?unexpectedCheck: *(\d+).*?duplicatedCheck: *(\d+)"
)


def _windows(process: ManagedProcess) -> list[Window]:
    return [Window(*map(int, found)) for found in _WINDOW.findall(process.output())]


@BOTH
def test_the_benchmark_sees_no_unexpected_and_no_duplicate_check(start_clients: StartClients, kind: str) -> None:
    """A fifth of its transactions are unknown at first; of their checks a third is answered UNKNOW once more."""
    clients = start_clients(kind, {"transactionCheckInterval": "2000"})
    warm_up(clients)
    topic = clients.cluster.create_topic("Transfers", queues=4)
    options = ("-n", clients.cluster.name_server, "-t", topic, "-w", 4, "-s", 128, "-i", 20)
    rates = ("-su", 0.2, "-sr", 0.1, "-cu", 0.3, "-cr", 0.1)
    benchmark = clients.java_example("benchmark.TransactionProducer", *options, *rates)

    def windows_with_checks() -> list[Window]:
        return [window for window in _windows(benchmark) if window.checks > 20]

    # On a busy machine its first heartbeat finds no broker to go to, and nobody is asked before the second, 30 s later.
    wait_until(lambda: len(windows_with_checks()) == 2, "20 s with checks", _DEADLINE_S, benchmark.output_end)
    windows = _windows(benchmark)
    assert {(window.unexpected_checks, window.duplicated_checks) for window in windows} == {(0, 0)}
    assert "unexpected check" not in benchmark.output()
    sent, failed = 10 * sum(window.sent_per_second for window in windows), sum(window.failed for window in windows)
    assert failed <= sent // 100, "a send may exceed its 3 s when the machine has no time for it"
    assert _stored(clients, topic, 4) > sent // 2


# --- an article's programs -------------------------------------------------------------------------------------------

#: As a broker.conf says it that gives the times in seconds. The real broker takes milliseconds only.
_IN_SECONDS = {"transactionTimeout": "20", "transactionCheckMax": "5", "transactionCheckInterval": "10"}
_SETTINGS_OF = {
    "glassmq": _IN_SECONDS,
    "real": {"transactionTimeOut": "20000", "transactionCheckMax": "5", "transactionCheckInterval": "10000"},
}


def _tags_received(consumer: ManagedProcess) -> list[str]:
    return re.findall(r"^MessageExt \[.*\bTAGS=(\w+)", consumer.output(), re.MULTILINE)


@BOTH
def test_a_transfer_is_delivered_at_once_or_never_or_after_the_check_back(
    start_clients: StartClients, kind: str
) -> None:
    clients = start_clients(kind, _SETTINGS_OF[kind])
    warm_up(clients)
    clients.cluster.create_topic("TTopic", queues=4)  # else the consumer hears of it 30 s later
    consumer = clients.article_program("SomeConsumer")
    consumer.wait_for_output("^Consumer Started$", _DEADLINE_S)
    producer = clients.article_program("TransactionProducer")
    producer.wait_for_output("^预提交消息成功:", _DEADLINE_S, at_least=3)
    producer.wait_for_output("^发送结果为:SEND_OK$", _DEADLINE_S, at_least=3)
    wait_until(lambda: _tags_received(consumer), "TAGA to be delivered", _DEADLINE_S, consumer.output_end)
    assert "执行消息回查" not in producer.output(), "TAGA needs no check-back"
    producer.wait_for_output("^执行消息回查TAGC$", _DEADLINE_S)
    wait_until(lambda: len(_tags_received(consumer)) == 2, "TAGC to be delivered", _DEADLINE_S, consumer.output_end)
    assert _tags_received(consumer) == ["TAGA", "TAGC"]
    assert re.findall("^执行消息回查(.*)$", producer.output(), re.MULTILINE) == ["TAGC"]
    assert _stored(clients, OP_TOPIC) == 3, "TAGA and TAGC are committed, TAGB is rolled back"
