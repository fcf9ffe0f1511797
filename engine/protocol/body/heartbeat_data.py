"""The heartbeat that a client sends to every broker every 30 s (RocketMQ: ``HeartbeatData``, ``ConsumerData``,
``ProducerData``).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.body.json_body import JsonBody
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from engine.protocol.json_form.json_fields import as_object, get_list, get_text

_MAX_GROUPS = 1_000


@dataclass(frozen=True, slots=True)
class ConsumerData(JsonBody, wire_names={"subscriptions": "subscriptionDataSet"}, items_max={"subscriptions": 10_000}):
    """One of the client's consumer groups."""

    group_name: str
    consume_type: ConsumeType = ConsumeType.CONSUME_PASSIVELY
    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    subscriptions: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False


@dataclass(frozen=True, slots=True)
class HeartbeatData(JsonBody, what="a heartbeat", is_unchangeable=True):
    """The body of code 34."""

    client_id: str
    producer_groups: tuple[str, ...] = ()
    consumers: tuple[ConsumerData, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the JSON object of the wire."""
        return {
            "clientID": self.client_id,
            "consumerDataSet": [consumer.to_dict() for consumer in self.consumers],
            "producerDataSet": [{"groupName": group} for group in self.producer_groups],
        }

    @classmethod
    def from_dict(cls, value: object) -> HeartbeatData:
        """Read the JSON object of the wire. Raises ``MalformedBody``."""
        fields = as_object(value)
        return cls(
            client_id=get_text(fields, "clientID"),
            producer_groups=get_list(
                fields, "producerDataSet", lambda item: get_text(as_object(item), "groupName"), at_most=_MAX_GROUPS
            ),
            consumers=get_list(fields, "consumerDataSet", ConsumerData.from_dict, at_most=_MAX_GROUPS),
        )
