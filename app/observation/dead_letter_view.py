"""A dead letter as pages and scripts get it: :mod:`app.picture.dead_letter`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.observation.bounds import client_text
from app.observation.record_view import message_summary
from app.observation.unix_time import world_us
from engine.broker.delivery.dead_letter import DeathCause, original_topic, retries_of
from engine.protocol.body.subscription_group_config import SubscriptionGroupConfig

if TYPE_CHECKING:
    from app.picture.dead_letter import DeadLetter, ResentAs
    from engine.broker.broker import Broker
    from engine.protocol.message.message import MessageExt

_PROPERTIES_MAX = 64


def dead_letter_view(
    dead: MessageExt,
    cause: DeathCause,
    resent: ResentAs | None,
    *,
    resent_known: bool = True,
    last_result: str | None = None,
    begin_ms: int = 0,
) -> DeadLetter:
    """Return a dead letter of one broker.

    :param begin_ms: time of the broker's clock at which the time of the picture begins.
    """
    summary = message_summary(dead)
    return {
        "queue_id": dead.queue_id,
        "queue_offset": dead.queue_offset,
        "offset": dead.commit_log_offset,
        "id": dead.offset_message_id,
        "unique_id": dead.unique_id,
        "keys": [client_text(key) for key in dead.keys],
        "tags": dead.tags,
        "topic": original_topic(dead),
        "retries": retries_of(dead),
        "cause": str(cause),
        "last_result": last_result,
        "born_us": world_us(dead.born_timestamp, begin_ms),
        "born_host": dead.born_host,
        "dead_us": world_us(dead.store_timestamp, begin_ms),
        "body_preview": summary["body_preview"],
        "body_bytes": summary["body_bytes"],
        "properties": {
            client_text(name): client_text(value) for name, value in list(dead.properties.items())[:_PROPERTIES_MAX]
        },
        "resent": resent,
        "resent_known": resent_known,
    }


def retry_max_times(broker: Broker, group: str) -> int:
    """Return how many times the broker has the group retry a message."""
    config = broker.subscription_group_manager.subscription_group_table.get(group)
    return (config or SubscriptionGroupConfig(group)).retry_max_times
