"""RocketMQ's own mqadmin prints the same for GlassMQ as for a real broker.

Both clusters get the same topics, messages and consumer; then the same script of commands runs against both, in one
JVM each and in the same order, and the outputs are compared command by command and line by line. What
:func:`normalised` replaces is the whole list of allowed differences. ``docs/operating/mqadmin.md`` lists all commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients, messages, sent, wait_for_bodies
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.exporter import read_as_the_exporter_does
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.rocketmq_jars import server_jars
from tests.interop.harness.wire import GET_CONSUME_STATS, request, wait_until_all_is_committed
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

TOPIC = "AdminTopic"
SINGLE = "AdminSingle"
GROUP = "AdminGroup"
QUEUES = 4
MESSAGES = 40
_DEADLINE_S = 90.0
_SESSION_DEADLINE_S = 400.0
_REFERENCE_VERSION = "4.9.8"

#: Everything that only looks. In the order in which it runs, as all that follows.
QUERIES = (
    "clusterList",
    "clusterList -m",
    "topicList",
    "topicList -c",
    f"topicClusterList -t {TOPIC}",
    f"topicRoute -t {TOPIC}",
    f"topicRoute -t {TOPIC} -l",
    "topicRoute -t TBW102",
    f"topicStatus -t {TOPIC}",
    f"allocateMQ -t {TOPIC} -i 10.0.0.1,10.0.0.2,10.0.0.3",
    f"consumerProgress -g {GROUP}",
    f"consumerProgress -g {GROUP} -s true",
    "consumerProgress",
    f"consumerConnection -g {GROUP}",
    f"consumerStatus -g {GROUP}",
    f"producerConnection -g CLIENT_INNER_PRODUCER -t {TOPIC}",
    "producer -b {broker}",
    "brokerConsumeStats -b {broker}",
    "brokerConsumeStats -b {broker} -o true",
    f"statsAll -t {TOPIC}",
    f"getConsumerConfig -g {GROUP}",
    "queryMsgById -i {id}",
    f"queryMsgById -i {{id}} -g {GROUP} -d {{client}}",
    f"queryMsgByKey -t {SINGLE} -k key-0",
    f"queryMsgByUniqueKey -t {SINGLE} -i {{unique}}",
    f"queryMsgByUniqueKey -t {TOPIC} -i {{unique_consumed}} -g {GROUP} -d {{client}}",
    f"queryMsgByOffset -t {SINGLE} -b broker-a -i 0 -o 1",
    f"printMsg -t {SINGLE} -d true",
    f"printMsgByQueue -t {SINGLE} -a broker-a -i 0 -p true -d true -f true",
    f"consumeMessage -t {SINGLE} -b broker-a -i 0 -o 0 -c 2",
    f"consumeMessage -t {SINGLE} -c 2",
    f"queryCq -t {SINGLE} -q 0 -i 0 -c 2 -b {{broker}}",
    f"queryCq -t {SINGLE} -q 0 -i 1 -c 1 -b {{broker}} -g {GROUP}",
)

#: Everything that changes something, each followed by what shows it.
CHANGES = (
    "updateTopic -c DefaultCluster -t AdminMade -r 3 -w 3 -p 6",
    "topicRoute -t AdminMade",
    "updateTopic -b {broker} -t AdminMade -r 5 -w 5 -p 6",
    "topicRoute -t AdminMade",
    "updateTopicPerm -b {broker} -t AdminMade -p 4",
    "updateTopicPerm -c DefaultCluster -t AdminMade -p 2",
    "topicRoute -t AdminMade",
    "updateTopicPerm -b {broker} -t AdminMade -p 6",
    "sendMessage -t AdminMade -p hello -k order-1 -c TagX -b broker-a -i 2",
    "consumeMessage -t AdminMade -b broker-a -i 2 -o 0 -c 1",
    "sendMsgStatus -b broker-a -s 16 -c 3",
    "checkMsgSendRT -t AdminMade -a 2 -s 16",
    "updateSubGroup -b {broker} -g AdminOwnGroup -s true -m false -d false -q 2 -r 5 -i 0 -w 1 -a true",
    "getConsumerConfig -g AdminOwnGroup",
    "updateSubGroup -c DefaultCluster -g AdminOwnGroup -r 7",
    "getConsumerConfig -g AdminOwnGroup",
    "updateTopic -c DefaultCluster -t %RETRY%AdminOwnGroup -r 1 -w 1 -p 6",
    f"cloneGroupOffset -s {GROUP} -d AdminOwnGroup -t {TOPIC}",
    "consumerProgress -g AdminOwnGroup",
    f"resetOffsetByTime -g AdminOwnGroup -t {TOPIC} -s 0",
    "consumerProgress -g AdminOwnGroup",
    f"skipAccumulatedMessage -g AdminOwnGroup -t {TOPIC} -f true",
    "consumerProgress -g AdminOwnGroup",
    "deleteSubGroup -c DefaultCluster -g AdminOwnGroup -r true",
    "getConsumerConfig -g AdminOwnGroup",
    "topicRoute -t %RETRY%AdminOwnGroup",
    "updateKvConfig -s AdminSpace -k color -v blue",
    "deleteKvConfig -s AdminSpace -k color",
    f"updateOrderConf -t {TOPIC} -m get",
    f"updateOrderConf -t {TOPIC} -m put -v broker-a:4",
    f"updateOrderConf -t {TOPIC} -m get",
    "updateNamesrvConfig -k orderMessageEnable -v true",
    f"topicRoute -t {TOPIC}",
    "updateNamesrvConfig -k orderMessageEnable -v false",
    f"updateOrderConf -t {TOPIC} -m delete",
    f"topicRoute -t {TOPIC}",
    "wipeWritePerm -b broker-a",
    f"topicRoute -t {TOPIC}",
    "addWritePerm -b broker-a",
    f"topicRoute -t {TOPIC}",
    "wipeWritePerm -b nobody",
    "updateBrokerConfig -b {broker} -k fileReservedTime -v 49",
    "updateBrokerConfig -c DefaultCluster -k autoCreateTopicEnable -v true",
    "cleanExpiredCQ -b {broker}",
    "cleanUnusedTopic -b {broker}",
    "cleanUnusedTopic -c DefaultCluster",
    "deleteExpiredCommitLog -b {broker}",
    "exportMetadata -c DefaultCluster -f {folder}",
    "exportMetadata -b {broker} -t -f {folder}",
    "exportConfigs -c DefaultCluster -f {folder}",
    "exportMetrics -c DefaultCluster -f {folder}",
    "deleteTopic -c DefaultCluster -t AdminMade",
    "topicRoute -t AdminMade",
    "topicStatus -t AdminMade",
    # The members of a group that is online move by themselves; the command only says where to.
    f"resetOffsetByTime -g {GROUP} -t {TOPIC} -s 0",
)

#: Compared but for the remark: GlassMQ explains an error in its own words, clients look at the code.
ERRORS = (
    "topicRoute -t NoSuchTopic",
    "topicStatus -t NoSuchTopic",
    "consumerProgress -g NoSuchGroup",
    "consumerConnection -g NoSuchGroup",
    f"producerConnection -g NoSuchGroup -t {TOPIC}",
    "updateTopic -c DefaultCluster -t bad|name! -r 4 -w 4",
    "updateTopic -b {broker} -t TBW102 -r 4 -w 4",
    "deleteTopic -c DefaultCluster -t TBW102",
    f"queryCq -t {SINGLE} -q 9 -i 0 -c 2 -b {{broker}}",
    "queryMsgById -i {wrong_id}",
)

#: Whose outputs are compared otherwise, in tests of their own.
INVENTORIES = ("brokerStatus -b {broker}", "getBrokerConfig -b {broker}", "getNamesrvConfig")

SCRIPT = (*QUERIES, *INVENTORIES, *ERRORS, *CHANGES)

#: Pattern, replacement, and why the two brokers cannot print the same.
_DIFFERENCES = (
    (r"\d{4}-\d\d-\d\d[ #]\d\d:\d\d:\d\d(?:[,:]\d{3})?", "<time>", "the runs are not simultaneous"),
    (r"127\.0\.0\.1:\d+", "<address>", "each broker and client connection has its own port"),
    (r"[\d.]+@\d+#\d+", "<client>", "a client id carries process and time"),
    (r"\b[0-9A-F]{32,56}\b", "<message id>", "ids carry address, process and time"),
    (r"Consume TPS: [\d.]+", "Consume TPS: <rate>", "a rate depends on the moment"),
    (r"\b1[5-9]\d{11}\b", "<time>", "milliseconds since 1970"),
    (r"/\S*/exported/", "<folder>/", "each cluster has a folder of its own"),
    (r"\b(RT|rt|spentTimeMills)([\":= ]+)[\d.]+", r"\1\2<duration>", "a duration depends on the machine"),
    (r"^(broker-a +\d+ +true +)\d+$", r"\1<duration>", "the same, of checkMsgSendRT"),
    (r"(AdminGroup +0 +)[\d.]+ +[\d.]+( +\d+ +\d+)", r"\1<rate> <rate>\2", "rates of statsAll depend on the moment"),
)

#: A command that takes longer than a second is connected as a producer itself; its client id ends with the time.
_TOOL_ITSELF = re.compile(r"(?:^|=)[\d.]+@1\d{12}\b")
#: clusterList's last columns: rates, wait of the page cache, hours the store covers, share of the disk in use.
_CLUSTER_LIST_RATES = re.compile(r"\s+[\d.]+\(\d+,\d+ms\)\s+[\d.]+\(\d+,\d+ms\)\s+\d+\s+[-\d.]+\s+[\d.]+\s*$")
#: The one data row of consumerProgress without a group: its TPS column, a rate as above.
_PROGRESS_RATE = re.compile(r"(\s(?:CLUSTERING|BROADCASTING)\s+)\d+(\s)")


def normalised(output: str) -> list[str]:
    """Output without what must differ.

    Runs of blanks become one: columns are padded to the width of values that were replaced. Lines are sorted:
    RocketMQ prints sets and hash maps in no promised order. Where the reference is another release than 4.9.8 the
    broker version is replaced as well, and only then.
    """
    lines = []
    for line in output.splitlines():
        if _TOOL_ITSELF.search(line):
            continue
        line = _CLUSTER_LIST_RATES.sub(" <rates>", line)
        line = _PROGRESS_RATE.sub(r"\1<rate>\2", line)
        for pattern, replacement, _ in _DIFFERENCES:
            line = re.sub(pattern, replacement, line)
        if server_jars().version != _REFERENCE_VERSION:
            line = re.sub(r"(<address>\s+)V4_\d+_\d+", r"\1<version>", line)
        if line.strip():
            lines.append(re.sub(r" +", " ", line).strip())
    return sorted(lines)


@dataclass
class Side:
    """One of the two clusters with the same content."""

    clients: Clients
    #: What commands may name in braces.
    names: dict[str, str]
    consumer: ManagedProcess

    @property
    def cluster(self) -> Cluster:
        return self.clients.cluster


def _prepare(clients: Clients) -> tuple[dict[str, str], ManagedProcess]:
    """Topics, messages and a consumer that keeps running. Returns what differs between the two sides, by name."""
    clients.cluster.create_topic(SINGLE, 1)
    single = clients.java_driver("sync", "AdminProducers", SINGLE, 3)
    single.wait_for_success(_DEADLINE_S)
    clients.cluster.create_topic(TOPIC, QUEUES)
    consumer = clients.java_driver("push", GROUP, TOPIC)
    consumer.wait_for_output('"ready"', _DEADLINE_S)
    sender = clients.java_driver("sync", "AdminProducers", TOPIC, MESSAGES)
    sender.wait_for_success(_DEADLINE_S)
    wait_for_bodies({f"message-{number}" for number in range(MESSAGES)}, consumer, deadline_s=_DEADLINE_S)
    broker = clients.cluster.broker
    wait_until_all_is_committed(broker, GROUP, TOPIC, QUEUES)
    # It has an offset of the retry topic only after its first pull of it has ended, without a message.
    wait_until(
        lambda: f"%RETRY%{GROUP}".encode() in request(broker, GET_CONSUME_STATS, {"consumerGroup": GROUP})[1],
        "the group to have committed an offset of its retry topic",
    )
    connection = clients.mqadmin("consumerConnection", "-g", GROUP).wait_for_success(_DEADLINE_S)
    client_id = re.search(r"^\S+@\S+", connection, re.MULTILINE)
    assert client_id is not None, connection
    assert messages(consumer)
    folder = clients.cluster.processes[0].log_path.parent / "exported"
    names = {
        "broker": broker,
        "id": str(sent(single)[0]["offset_id"]),
        "wrong_id": str(sent(single)[0]["offset_id"])[:16] + f"{1 << 20:016X}",
        "unique": str(sent(single)[1]["id"]),
        "unique_consumed": str(sent(sender)[0]["id"]),
        "client": client_id[0],
        "folder": str(folder),
    }
    return names, consumer


def _wait_until_all_is_read_again(side: Side) -> None:
    wait_until(lambda: len(messages(side.consumer)) >= 2 * MESSAGES, "the group to have read all again")
    wait_until_all_is_committed(side.names["broker"], GROUP, TOPIC, QUEUES)


#: At its first look for half messages, a minute after its start, a real broker makes their topic, which lists then
#: show; GlassMQ makes it with the first half message.
_REFERENCE_SETTINGS = {"transactionCheckInterval": "3600000"}


@pytest.fixture(scope="module")
def real_cluster(real_client: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A fresh real RocketMQ that looks for no half messages."""
    running = start_real_rocketmq(tmp_path_factory.mktemp("reference"), settings=_REFERENCE_SETTINGS)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def sides(
    real_cluster: Cluster, fresh_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Side, Side]]:
    """The real broker and the broker under test, each with 40 consumed messages and the consumer still running."""
    both = []
    for running in (real_cluster, fresh_cluster):
        clients = Clients(running, tmp_path_factory.mktemp("admin"))
        both.append(Side(clients, *_prepare(clients)))
    yield both[0], both[1]
    for side in both:
        side.clients.stop_all()


@pytest.fixture(scope="module")
def transcripts(sides: tuple[Side, Side]) -> tuple[list[str], list[str]]:
    """What each command of :data:`SCRIPT` printed: for the real broker, and for the one under test."""
    running = [side.clients.mqadmin_session([line.format(**side.names).split() for line in SCRIPT]) for side in sides]
    real, ours = (_outputs(process.wait_for_success(_SESSION_DEADLINE_S)) for process in running)
    assert len(real) == len(ours) == len(SCRIPT)
    return real, ours


def _outputs(transcript: str) -> list[str]:
    parts = re.split(r"^@@@ (?:\d+|end)\n", transcript, flags=re.MULTILINE)
    return parts[1:-1]


def _both(transcripts: tuple[list[str], list[str]], number: int) -> tuple[str, str]:
    return transcripts[0][number], transcripts[1][number]


def _numbered(commands: tuple[str, ...]) -> list[object]:
    """Places in the script, shown by their commands: the same command may come several times."""
    start = next(n for n in range(len(SCRIPT)) if SCRIPT[n : n + len(commands)] == commands)
    return [pytest.param(start + n, id=f"{start + n} {command}") for n, command in enumerate(commands)]


@pytest.mark.parametrize("number", _numbered(QUERIES))
def test_a_query_prints_what_it_prints_for_the_real_broker(
    transcripts: tuple[list[str], list[str]], number: int
) -> None:
    reference, ours = (normalised(output) for output in _both(transcripts, number))
    assert reference, "mqadmin printed nothing for the real broker"
    assert ours == reference


def _without_remark(output: str) -> str:
    """``output`` without the sentence that explains an error code: it may run over several lines of a stack trace."""
    return re.sub(r"(CODE: \d+ +DESC: ).*?(?=\n\s+at |\Z)", r"\1<remark>", output, flags=re.DOTALL)


@pytest.mark.parametrize("number", _numbered(CHANGES))
def test_a_change_and_what_it_leaves_are_those_of_the_real_broker(
    transcripts: tuple[list[str], list[str]], number: int
) -> None:
    reference, ours = (normalised(_without_remark(output)) for output in _both(transcripts, number))
    assert ours == reference


@pytest.mark.parametrize("number", _numbered(ERRORS))
def test_an_error_carries_the_code_of_the_real_broker(transcripts: tuple[list[str], list[str]], number: int) -> None:
    reference, ours = (normalised(_without_remark(output)) for output in _both(transcripts, number))
    assert any("CODE: " in line for line in reference)
    assert ours == reference


# --- lists that cannot be the same -----------------------------------------------------------------------------------


def _inventory(transcripts: tuple[list[str], list[str]], command: str) -> tuple[dict[str, str], dict[str, str]]:
    """``name = value`` or ``name : value`` lines of both sides."""
    pattern = re.compile(r"^(\S+)\s*[:=]\s*(.*?)\s*$", re.MULTILINE)
    real, ours = (dict(pattern.findall(output)) for output in _both(transcripts, SCRIPT.index(command)))
    return real, ours


def test_the_runtime_table_has_the_names_of_the_real_one_and_the_same_counts(
    transcripts: tuple[list[str], list[str]],
) -> None:
    real, ours = _inventory(transcripts, "brokerStatus -b {broker}")
    rocketmqs = {name for name in ours if not name.startswith("glassmq")}
    assert rocketmqs == {name for name in real if not name.startswith("commitLogDiskRatio_")}
    assert len(ours) > 40
    for name in (
        "commitLogMinOffset",
        "dispatchBehindBytes",
        "msgPutTotalTodayNow",
        "msgGetTotalTodayNow",
        "putMessageSizeTotal",
        "commitLogMaxOffset",
    ):
        assert (name, ours[name]) == (name, real[name])


def test_the_exporter_can_read_all_of_the_runtime_table(transcripts: tuple[list[str], list[str]]) -> None:
    real, ours = _inventory(transcripts, "brokerStatus -b {broker}")
    if (
        real["putMessageDistributeTime"] == "null"
    ):  # before a real broker's first minute is over, which the exporter knows
        real["putMessageDistributeTime"] = ours["putMessageDistributeTime"]
    assert _shape(read_as_the_exporter_does(ours)) == _shape(read_as_the_exporter_does(real))


def _shape(content: object) -> object:
    """``content`` with the kinds of its values in their place."""
    return {key: _shape(value) for key, value in content.items()} if isinstance(content, dict) else type(content)


#: Whose default is another here; ``engine/store/files/store_config.py`` says why.
_OTHER_DEFAULTS = {
    "flushConsumeQueueThoroughInterval",
    "mappedFileSizeCommitLog",
    "mappedFileSizeConsumeQueue",
    "mappedFileSizeConsumeQueueExt",
}
#: Given by each side's start command.
_GIVEN = {"diskMaxUsedSpaceRatio", "enablePropertyFilter", "fileReservedTime", "listenPort", "namesrvAddr"}
_GIVEN |= {"haListenPort", "maxHashSlotNum", "maxIndexNum", *_REFERENCE_SETTINGS}


def test_a_setting_that_both_brokers_have_has_the_same_default(transcripts: tuple[list[str], list[str]]) -> None:
    real, ours = _inventory(transcripts, "getBrokerConfig -b {broker}")
    both = {name for name in real if name in ours} - _OTHER_DEFAULTS - _GIVEN
    assert {name: ours[name] for name in both} == {name: real[name] for name in both}
    assert len(both) > 50


def test_the_name_server_shows_the_settings_it_has(transcripts: tuple[list[str], list[str]]) -> None:
    real, ours = _inventory(transcripts, "getNamesrvConfig")
    assert ours["orderMessageEnable"] == real["orderMessageEnable"] == "false"


@pytest.mark.parametrize("name", ["metadata.json", "topic.json"])
def test_exported_topics_and_groups_are_the_same(
    sides: tuple[Side, Side], transcripts: tuple[list[str], list[str]], name: str
) -> None:
    real, ours = (json.loads(Path(side.names["folder"], name).read_text("utf-8")) for side in sides)
    for content in (real, ours):
        content.pop("exportTime", None)
        content.pop("dataVersion", None)
    assert ours == real


def test_exported_metrics_are_the_same_but_for_measurements_and_the_size_of_a_thread_pool(
    sides: tuple[Side, Side], transcripts: tuple[list[str], list[str]]
) -> None:
    real, ours = (json.loads(Path(side.names["folder"], "metrics.json").read_text("utf-8")) for side in sides)
    [real_report], [report] = (list(content["evaluateReport"].values()) for content in (real, ours))
    assert (list(real_report.pop("runtimeEnv")), report.pop("runtimeEnv")) == (["cpuNum"], {})
    assert report["runtimeVersion"] == real_report["runtimeVersion"]
    for name in ("topicSize", "groupSize", "messageAverageSize"):
        assert (name, report["runtimeQuota"][name]) == (name, real_report["runtimeQuota"][name])
    assert _shape(ours["totalData"]) == _shape(real["totalData"])
    assert _shape(report) == _shape(real_report)


# --- what RocketMQ's dashboard asks ----------------------------------------------------------------------------------


def test_the_calls_of_the_dashboard_have_the_results_of_the_real_broker(
    sides: tuple[Side, Side], transcripts: tuple[list[str], list[str]]
) -> None:
    """After the script: both sides hold the same again, once the client has gone back, which takes it 10 s."""
    for side in sides:
        _wait_until_all_is_read_again(side)
    running = [
        side.clients.dashboard_calls(
            side.names["broker"], TOPIC, GROUP, side.names["client"], side.names["id"], side.names["unique_consumed"]
        )
        for side in sides
    ]
    real, ours = (_calls(process.wait_for_success(_DEADLINE_S)) for process in running)
    assert len(real) > 50
    for (name, reference), (_, result) in zip(real, ours, strict=True):
        assert (name, result) == (name, reference)


def _calls(output: str) -> list[tuple[str, list[str]]]:
    """(name, result) of each call; JSON objects have no order that Java promises."""
    calls = []
    for name, result in re.findall(r"^@ ([^\t\n]+)\t(.*)$", output, re.MULTILINE):
        [line] = normalised(result) or [""]
        line = re.sub(r"\"\d{4}-\d\d-\d\d#[\d:]+\"", "<time>", line)
        calls.append((name, sorted(re.split(r"[,{}\[\]]+", line))))
    return calls
