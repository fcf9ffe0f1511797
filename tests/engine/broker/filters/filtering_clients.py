"""Clients that send ages and subscribe to some of them by SQL92."""

from __future__ import annotations

from engine.broker.foundation.broker_config import BrokerConfig
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import LabClient

ON = BrokerConfig(enable_property_filter=True)
SQL = {"expression_type": "SQL92"}
YOUNG = "age BETWEEN 0 AND 6"


def send_ages(client: LabClient, *ages: int) -> None:
    for age in ages:
        client.send(body=b"%d" % age, properties={"age": str(age)})


def found(client: LabClient, **fields) -> list[bytes]:
    reply = client.pull(**{"subscription": None, "expression_type": "SQL92", **fields})
    return [message.body for message in decode_messages(reply.body)]


def subscribe(client: LabClient, expression: str = YOUNG, **fields) -> None:
    reply = client.heartbeat(subscriptions={"T": expression}, **{**SQL, **fields})
    assert reply.code == ResponseCode.SUCCESS
