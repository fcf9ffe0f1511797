"""ACL and TLS with RocketMQ's own programs, and the same signed requests to GlassMQ and to a real broker.

``DIFFERENCES`` is the whole list of requests that the two judge differently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients, sent, wait_for_bodies
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.wire import RequestRefused, request, signed
from tests.support.live.certificates import make_certificates

pytestmark = pytest.mark.interop_java

ADMIN, SHOP = ("admin-key", "admin-secret"), ("shop-key", "shop-secret")
RULES = """\
accounts:
  - accessKey: admin-key
    secretKey: admin-secret
    admin: true
  - accessKey: shop-key
    secretKey: shop-secret
    defaultTopicPerm: DENY
    defaultGroupPerm: DENY
    topicPerms: [orders=PUB|SUB, news=SUB]
    groupPerms: [billing=SUB]
"""
_DEADLINE_S = 90.0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """GlassMQ with ``RULES``."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "data" / "config").mkdir(parents=True)
    (folder / "data" / "config" / "plain_acl.yml").write_text(RULES, "ascii")
    cluster = start_glassmq(folder, settings={"aclEnable": "true"})
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def real_guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A real RocketMQ with the same rules."""
    folder = tmp_path_factory.mktemp("real-guarded")
    (folder / "home" / "conf").mkdir(parents=True)
    (folder / "home" / "conf" / "plain_acl.yml").write_text(RULES, "ascii")
    cluster = start_real_rocketmq(folder, settings={"aclEnable": "true"})
    yield cluster
    cluster.stop()


@pytest.fixture
def guarded_clients(guarded: Cluster, tmp_path: Path) -> Iterator[Clients]:
    started = Clients(guarded, tmp_path)
    yield started
    started.stop_all()


# ---------------------------------------------------------------------------------- the same requests to both

SEND = {
    "a": "shops", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1767225600000", "h": "0", "i": "", "j": "0",
    "k": "false",
}  # fmt: skip
PULL = {
    "queueId": "0", "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "4", "commitOffset": "0",
    "suspendTimeoutMillis": "0", "subscription": "*", "subVersion": "0", "expressionType": "TAG",
}  # fmt: skip
TOPIC = {
    "topic": "orders", "defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
}  # fmt: skip


def heartbeat(group: str, topic: str) -> bytes:
    subscription = {
        "topic": topic, "subString": "*", "tagsSet": [], "codeSet": [], "subVersion": 1, "classFilterMode": False,
        "expressionType": "TAG",
    }  # fmt: skip
    consumer = {
        "groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "subscriptionDataSet": [subscription], "unitMode": False,
    }  # fmt: skip
    return json.dumps({"clientID": "wire@1", "producerDataSet": [], "consumerDataSet": [consumer]}).encode()


Request = tuple[int, dict[str, str], bytes]
REQUESTS: dict[str, Request] = {
    "create topic": (17, TOPIC, b""),
    "send": (310, {**SEND, "b": "orders"}, b"x"),
    "send to what one may only read": (310, {**SEND, "b": "news"}, b"x"),
    "send elsewhere": (310, {**SEND, "b": "other"}, b"x"),
    "report a trace": (310, {**SEND, "b": "RMQ_SYS_TRACE_TOPIC"}, b"x"),
    "pull": (11, {**PULL, "topic": "orders", "consumerGroup": "billing"}, b""),
    "pull for another group": (11, {**PULL, "topic": "orders", "consumerGroup": "others"}, b""),
    "pull elsewhere": (11, {**PULL, "topic": "other", "consumerGroup": "billing"}, b""),
    "heartbeat": (34, {}, heartbeat("billing", "orders")),
    "heartbeat of another group": (34, {}, heartbeat("others", "orders")),
    "heartbeat elsewhere": (34, {}, heartbeat("billing", "other")),
    "members of another group": (38, {"consumerGroup": "others"}, b""),
    "commit for another group": (
        15, {"consumerGroup": "others", "topic": "orders", "queueId": "0", "commitOffset": "0"}, b"",
    ),
    "search elsewhere": (
        12, {"topic": "other", "key": "k", "maxNum": "1", "beginTimestamp": "0", "endTimestamp": "1"}, b"",
    ),
    "leave another group": (35, {"clientID": "wire@1", "consumerGroup": "others"}, b""),
    "end of a queue elsewhere": (30, {"topic": "orders", "queueId": "0"}, b""),
    "delete a topic": (215, {"topic": "orders"}, b""),
    "create a group": (200, {}, b"{}"),
    "delete a group": (207, {"groupName": "billing"}, b""),
    "change settings": (25, {}, b"traceOn=true"),
    "version of the rules": (52, {}, b""),
    "delete an account": (51, {"accessKey": "nobody-key"}, b""),
    "batch to what one may only read": (320, {**SEND, "b": "news", "m": "true"}, b""),
    "send to another group's retry topic": (310, {**SEND, "a": "billing", "b": "%RETRY%others"}, b"x"),
}  # fmt: skip

#: A client that guesses a secret key is slowed down here, and not by RocketMQ.
SLOWED_DOWN = "too many wrong signatures from this address"
#: What the real broker lets through (as far as its rules go) and GlassMQ does not.
DIFFERENCES = {
    "delete an account": "Need admin permission for request code=51, but accessKey=shop-key is not",
    "batch to what one may only read": "No default permission for topic:news",
    "send to another group's retry topic": "No default permission for group:others",
}


def judgement(cluster: Cluster, asked: Request, sign: Callable[[dict[str, str], bytes], dict[str, str]]) -> str:
    """What the rules say: the text of the refusal, or "let through" whatever comes of the request then."""
    code, fields, body = asked
    try:
        request(cluster.broker, code, sign(fields, body), body)
    except RequestRefused as refused:
        found = re.search(r"AclException: ([^,]*(?:, but accessKey=\S+ is not)?)", refused.remark)
        if found:
            return found[1] if refused.code == 1 else f"code {refused.code}: {found[1]}"
    return "let through"


def by(account: tuple[str, str]) -> Callable[[dict[str, str], bytes], dict[str, str]]:
    return lambda fields, body: signed(fields, body, *account)


def test_the_same_requests_are_judged_as_by_the_real_broker(guarded: Cluster, real_guarded: Cluster) -> None:
    for cluster in (guarded, real_guarded):
        assert judgement(cluster, REQUESTS["create topic"], by(ADMIN)) == "let through"
    signers = {
        "unsigned": lambda fields, body: fields,
        "unknown": by(("nobody-key", "shop-secret")),
        "shop": by(SHOP),
        "wrong": by((SHOP[0], "another-secret")),
    }
    different = {}
    for who, sign in signers.items():
        for name, asked in REQUESTS.items():
            ours, theirs = judgement(guarded, asked, sign), judgement(real_guarded, asked, sign)
            is_slowed_down = ours.startswith(SLOWED_DOWN) and theirs.startswith("Check signature failed")
            if ours != theirs and not is_slowed_down:
                different[name] = (ours, theirs)
            if who != "shop":
                assert ours != "let through", name
    assert different == {name: (text, "let through") for name, text in DIFFERENCES.items()}


# ---------------------------------------------------------------------------------- RocketMQ's own programs


def test_the_java_client_signs_and_is_let_through(guarded: Cluster, guarded_clients: Clients) -> None:
    judgement(guarded, REQUESTS["create topic"], by(ADMIN))
    known = guarded_clients.java_with_account(SHOP, "shops", "orders", 20)
    known.wait_for_success(_DEADLINE_S)
    assert [event["status"] for event in sent(known)] == ["SEND_OK"] * 20
    unknown = guarded_clients.java_with_account((SHOP[0], "another-secret"), "shops", "orders", 1)
    unknown.wait_for_success(_DEADLINE_S)
    (refused,) = unknown.events()
    assert refused["code"] == 1 and "Check signature failed for accessKey=shop-key" in refused["text"]


def test_mqadmin_changes_the_rules(guarded: Cluster, guarded_clients: Clients) -> None:
    guarded_clients.tools_account = ADMIN
    broker = ("-b", guarded.broker)

    def run(*words: str) -> str:
        process = guarded_clients.mqadmin(*words)
        process.wait_for_success(_DEADLINE_S)
        return process.output()

    audit = ("audit-key", "audit-secret")
    assert "success" in run(
        "updateAclConfig", *broker, "-a", audit[0], "-s", audit[1], "-t", "orders=SUB", "-m", "false"
    )
    assert judgement(guarded, REQUESTS["send"], by(audit)) == "No default permission for topic:orders"
    assert re.search(r"plain_acl.yml|broker-a", run("clusterAclConfigVersion", *broker))
    assert "success" in run("deleteAclConfig", *broker, "-a", audit[0])
    assert judgement(guarded, REQUESTS["send"], by(audit)) == "No acl config for audit-key"
    assert "success" in run("updateGlobalWhiteAddr", *broker, "-g", "10.1.1.1,10.1.2.*")
    guarded_clients.tools_account = SHOP
    refused = guarded_clients.mqadmin("deleteAclConfig", *broker, "-a", ADMIN[0])
    refused.wait_for_output("Need admin permission for request code=51, but accessKey=shop-key is not", _DEADLINE_S)


def test_the_java_client_speaks_tls(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    options = ("--tls-cert", certificates.certificate, "--tls-key", certificates.key, "--tls-mode", "enforcing")
    cluster = start_glassmq(tmp_path / "cluster", options=options)
    clients = Clients(cluster, tmp_path)
    try:
        clients.java_settings = ("-Dtls.enable=true",)
        consumer = clients.java_driver("push", "tls-readers", "letters")
        sender = clients.java_driver("sync", "tls-writers", "letters", 20)
        sender.wait_for_success(_DEADLINE_S)
        assert len(sent(sender)) == 20
        wait_for_bodies({f"message-{number}" for number in range(20)}, consumer)
    finally:
        clients.stop_all()
        cluster.stop()
