"""A data folder that is gone, full or unreadable: every request of every code is answered, and says so by name."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from engine.protocol.command.headers import UpdateConsumerOffsetRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.port import Disk, DiskFault, DiskFull
from tests.engine.broker.lab_broker import BrokerLab, LabClient, broker_lab

NODES = ("broker-a", "name-server")
#: Values that let most requests get as far as the disk.
FIELDS = {
    **dict.fromkeys(("topic", "defaultTopic", "originTopic", "statsKey", "key"), "T"),
    **dict.fromkeys(
        ("group", "consumerGroup", "producerGroup", "groupName", "srcGroup", "destGroup", "namespace"), "g"
    ),
    **dict.fromkeys(("queueId", "offset", "queueOffset", "commitOffset", "sysFlag", "flag", "timestamp"), "0"),
    **dict.fromkeys(("beginTimestamp", "bornTimestamp", "subVersion", "index", "suspendTimeoutMillis"), "0"),
    **dict.fromkeys(("commitLogOffset", "tranStateTableOffset", "topicSysFlag", "reconsumeTimes", "brokerId"), "0"),
    **dict.fromkeys(("readQueueNums", "writeQueueNums", "defaultTopicQueueNums", "delayLevel", "perm"), "6"),
    **dict.fromkeys(("maxNum", "maxMsgNums", "count", "maxReconsumeTimes"), "32"),
    **dict.fromkeys(("isForce", "order", "unitMode", "batch", "jstack", "fromTransactionCheck"), "false"),
    **dict.fromkeys(("clientId", "clientID", "value", "properties", "transactionId", "accessKey", "secretKey"), "c"),
    "endTimestamp": "9999999999999",
    "subscription": "*",
    "topicFilterType": "SINGLE_TAG",
    "statsName": "TOPIC_PUT_NUMS",
    "commitOrRollback": "8",
    "clusterName": "DefaultCluster",
    "brokerName": "broker-a",
    "brokerAddr": "127.0.0.1:1",
    "haServerAddr": "127.0.0.1:2",
}
BODIES = (b"", b"{}", json.dumps({"topicConfigTable": {}}).encode(), b"autoCreateTopicEnable=false")


@pytest.fixture
def lab() -> Iterator[BrokerLab]:
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T")
        client.send("T", keys="T")
        yield lab


def lose_folders(lab: BrokerLab, fault: type[DiskFault]) -> None:
    def fails(*arguments: object) -> None:
        raise fault(f"cannot use {arguments}: the folder is gone")

    for node in NODES:
        disk = lab.world.node(node).disk
        for name in [name for name in vars(Disk) if not name.startswith("_") and name != "boot_id"]:
            setattr(disk, name, fails)


def answers(lab: BrokerLab, client: LabClient) -> Iterator[tuple[str, RemotingCommand]]:
    assert lab.name_server is not None
    for address in (lab.broker.address, lab.name_server.address):
        for code in RequestCode:
            for body in BODIES:
                request = RemotingCommand.request(code, body=body)
                request.ext_fields = dict(FIELDS)
                yield f"{code.name} at {address} with {body!r}", client.exchange(request, address=address)


@pytest.mark.parametrize("fault", [DiskFault, DiskFull])
def test_every_request_is_answered_by_name_without_the_data_folder(lab, fault, caplog):
    lose_folders(lab, fault)
    named = 0
    for what, reply in answers(lab, lab.client("asker")):
        assert "internal error" not in (reply.remark or ""), f"{what}: {reply.remark}"
        named += "the folder is gone" in (reply.remark or "")
    assert named
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("fault", [DiskFault, DiskFull])
def test_what_is_done_from_time_to_time_names_the_folder_that_is_gone(lab, fault, caplog):
    client = lab.client("asker")
    client.heartbeat("consumers", {"T": "*"})
    client.send("T", delay_level=1)
    lose_folders(lab, fault)
    header = UpdateConsumerOffsetRequestHeader("consumers", "T", 0, 1)
    client.call(RequestCode.UPDATE_CONSUMER_OFFSET, header)
    lab.run_for(180_000)
    logged = [record.getMessage() for record in caplog.records if "the folder is gone" in record.getMessage()]
    for action in ("persist offsets", "persist delay offsets"):
        assert any(f"periodic action {action} failed" in line for line in logged)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def test_the_runtime_table_counts_a_folder_that_is_gone_as_full(lab):
    lose_folders(lab, DiskFault)
    reply = lab.client("asker").call(RequestCode.GET_BROKER_RUNTIME_INFO)
    assert reply.code == ResponseCode.SUCCESS
    table = json.loads(reply.body)["table"]
    assert (table["commitLogDiskRatio"], table["consumeQueueDiskRatio"]) == ("1.00", "1.00")
    assert table["commitLogDirCapacity"] == "Total : 0 B, Free : 0 B."
