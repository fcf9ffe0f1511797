"""The broker's second port, two below its own."""

from __future__ import annotations

import logging

import pytest

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.command.headers import UpdateConsumerOffsetRequestHeader
from engine.protocol.message.message import Message
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RemotingConnectFailed
from tests.engine.broker.lab_broker import BrokerLab, broker_lab


def vip_address(lab: BrokerLab) -> str:
    host, _, port = lab.broker.address.rpartition(":")
    return f"{host}:{int(port) - 2}"


def ask_vip(lab: BrokerLab) -> int:
    """The response code of a send through the VIP channel."""
    client = lab.client("old client")
    request = client.send_request("T", Message("T", b"hello"))
    return client.exchange(request, address=vip_address(lab)).code


def test_sends_pulls_and_commits_are_answered_two_ports_below_the_broker():
    with broker_lab() as lab:
        assert lab.broker.vip_channel.address == vip_address(lab)
        assert ask_vip(lab) == ResponseCode.SUCCESS
        client = lab.client("old consumer")
        commit = UpdateConsumerOffsetRequestHeader("consumers", "T", 0, 1)
        assert client.call(RequestCode.UPDATE_CONSUMER_OFFSET, commit, address=vip_address(lab)).code == 0
        assert client.exchange(client.pull_request(), address=vip_address(lab)).code == ResponseCode.SUCCESS
        assert len(lab.broker.server.channels) == 2, "its connections are the broker's"


def test_with_the_channel_off_nothing_listens_there():
    with broker_lab(BrokerConfig(vip_channel_enable=False)) as lab:
        assert lab.broker.vip_channel.address == lab.broker.vip_channel.problem == ""
        with pytest.raises(RemotingConnectFailed):
            ask_vip(lab)
        assert lab.client().send().code == ResponseCode.SUCCESS


def test_the_channel_ends_with_the_broker():
    with broker_lab() as lab:
        lab.stop_broker()
        assert lab.broker.vip_channel.problem == ""
        assert ask_vip(lab) == ResponseCode.SUCCESS
        lab.world.run(lab.broker.shutdown(), node="broker-a")
        with pytest.raises(RemotingConnectFailed):
            ask_vip(lab)


@pytest.mark.parametrize(
    ("ports", "problem"),
    [
        ({"port": 10_911, "ha_listen_port": 10_909}, "10909 is in use already"),
        ({"port": 2}, "there is no port 0"),
        ({"port": 1}, "there is no port -1"),
    ],
)
def test_a_broker_that_cannot_have_the_port_says_so_and_serves(ports, problem, caplog):
    with caplog.at_level(logging.WARNING, "glassmq.broker"), broker_lab(BrokerConfig(**ports)) as lab:
        assert problem in lab.broker.vip_channel.problem
        assert lab.broker.vip_channel.address == ""
        assert lab.client().send().code == ResponseCode.SUCCESS
    assert any(problem in record.getMessage() for record in caplog.records)
