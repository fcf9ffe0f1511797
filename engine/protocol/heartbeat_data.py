"""What a client tells every broker each 30 s (RocketMQ: ``HeartbeatData``, ``ConsumerData``, ``ProducerData``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from engine.protocol.enums import ConsumeFromWhere, ConsumeType, MessageModel
from engine.protocol.errors import MalformedBody
from engine.protocol.json_fields import as_object, get_boolean, get_list, get_text
from engine.protocol.json_text import dumps_json, loads_json_object
from engine.protocol.subscription_data import SubscriptionData

_MAX_GROUPS = 1_000
_MAX_SUBSCRIPTIONS = 10_000
_Name = TypeVar("_Name", bound=StrEnum)


def _enum(kind: type[_Name], fields: Mapping[str, Any], name: str, default: _Name) -> _Name:
    """Java clients send the name of a constant, C++ clients its number."""
    number = fields.get(name)
    if isinstance(number, int) and 0 <= number < len(kind):
        return tuple(kind)[number]
    text = get_text(fields, name, default)
    try:
        return kind(text)
    except ValueError as error:
        allowed = ", ".join(kind)
        raise MalformedBody(f"field {name!r} is {text[:40]!r}; allowed: {allowed}") from error


@dataclass(frozen=True, slots=True)
class ConsumerData:
    """One consumer group of the client."""

    group_name: str
    consume_type: ConsumeType = ConsumeType.CONSUME_PASSIVELY
    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    subscriptions: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire."""
        return {
            "consumeFromWhere": str(self.consume_from_where),
            "consumeType": str(self.consume_type),
            "groupName": self.group_name,
            "messageModel": str(self.message_model),
            "subscriptionDataSet": [subscription.to_dict() for subscription in self.subscriptions],
            "unitMode": self.unit_mode,
        }

    @classmethod
    def from_dict(cls, value: object) -> ConsumerData:
        """Read the JSON object of the wire. Raises :class:`MalformedBody`."""
        fields = as_object(value)
        return cls(
            group_name=get_text(fields, "groupName"),
            consume_type=_enum(ConsumeType, fields, "consumeType", ConsumeType.CONSUME_PASSIVELY),
            message_model=_enum(MessageModel, fields, "messageModel", MessageModel.CLUSTERING),
            consume_from_where=_enum(
                ConsumeFromWhere, fields, "consumeFromWhere", ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
            ),
            subscriptions=get_list(
                fields,
                "subscriptionDataSet",
                lambda item: SubscriptionData.from_dict(as_object(item)),
                at_most=_MAX_SUBSCRIPTIONS,
            ),
            unit_mode=get_boolean(fields, "unitMode"),
        )


@dataclass(frozen=True, slots=True)
class HeartbeatData:
    """The body of code 34."""

    client_id: str
    producer_groups: tuple[str, ...] = ()
    consumers: tuple[ConsumerData, ...] = ()

    def to_json(self) -> bytes:
        """The body."""
        return dumps_json(
            {
                "clientID": self.client_id,
                "consumerDataSet": [consumer.to_dict() for consumer in self.consumers],
                "producerDataSet": [{"groupName": group} for group in self.producer_groups],
            }
        )

    @classmethod
    def from_json(cls, body: bytes) -> HeartbeatData:
        """Read the body. Raises :class:`MalformedBody`."""
        fields = loads_json_object(body, "a heartbeat")
        return cls(
            client_id=get_text(fields, "clientID"),
            producer_groups=get_list(
                fields, "producerDataSet", lambda item: get_text(as_object(item), "groupName"), at_most=_MAX_GROUPS
            ),
            consumers=get_list(fields, "consumerDataSet", ConsumerData.from_dict, at_most=_MAX_GROUPS),
        )
