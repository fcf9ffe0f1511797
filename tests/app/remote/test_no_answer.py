"""Reasons in words why a server gives no answer."""

from __future__ import annotations

import asyncio

import pytest

from app.remote.cluster_reader import ClusterReader
from app.remote.no_answer import why_no_answer
from engine.client.foundation.errors import MQBrokerError, MQClientError, NameServerUnreachable
from engine.protocol.errors import MalformedBody
from engine.remoting.errors import RemotingConnectFailed, RemotingSendFailed, RemotingTimeout
from engine.remoting.remoting_client import RemotingClient


class FailingClient(RemotingClient):
    """A client whose calls all fail in one way."""

    def __init__(self, failure: Exception) -> None:
        self._failure = failure

    async def call(self, address, command, timeout_ms):
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "english", "chinese"),
    [
        (RemotingConnectFailed("connection refused"), "no connection (connection refused)", "无法建立连接"),
        (RemotingTimeout("no reply"), "the request timed out", "请求超时"),
        (RemotingSendFailed("closed"), "the connection ended before the answer", "应答之前连接已断开"),
    ],
)
def test_a_request_that_failed_has_a_reason_in_each_language(failure, english, chinese):
    with pytest.raises(NameServerUnreachable) as raised:
        asyncio.run(ClusterReader(FailingClient(failure), ["127.0.0.1:9"]).topics())
    why = why_no_answer(raised.value)
    assert why["en"] == english
    assert why["zh"].startswith(chinese)


def test_an_answer_that_cannot_be_read_is_named_with_the_problem():
    assert why_no_answer(MalformedBody("no JSON"))["en"] == "the answer cannot be read (no JSON)"
    assert why_no_answer(MQClientError("odd"))["zh"] == "无法解读应答（odd）"


def test_a_refusal_quotes_the_server_or_its_code_and_access_rules_are_explained():
    assert why_no_answer(MQBrokerError(1, "busy", "b:1", "ask"))["zh"] == "busy"
    assert why_no_answer(MQBrokerError(17, None, "b:1", "ask"))["en"] == "code 17"
    rocketmq = "org.apache.rocketmq.acl.common.AclException: No acl config"
    assert "plain_acl.yml" in why_no_answer(MQBrokerError(1, rocketmq, "b:1", "ask"))["zh"]


def test_a_long_remark_is_cut():
    assert len(why_no_answer(MQBrokerError(1, "x" * 10_000, "b:1", "ask"))["en"]) < 300
