"""The options of ``df.write.format("rocketmq")`` and ``df.writeStream.format("rocketmq")``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from engine.fields.field import Field
from engine.pipeline.source.cluster.cluster_options import CLUSTER_OPTIONS, ClusterOptions
from engine.pipeline.source.cluster.errors import wrong_option
from engine.pipeline.source.cluster.option_values import OptionValues, text_options
from engine.protocol.errors import IllegalName
from engine.protocol.names import NOT_ALLOWED_SEND_TOPICS, validate_group, validate_topic

#: Limit of RocketMQ's producers and brokers (``maxMessageSize`` of each).
_MAX_MESSAGE_BYTES = 4 * 1024 * 1024
_BATCH_BYTES = 1024 * 1024


class ReplayCheck(StrEnum):
    """When to search for messages that an earlier try has stored."""

    AUTO = "auto"  # if there may have been an earlier try
    ALWAYS = "always"
    NEVER = "never"


WRITE_OPTIONS: tuple[Field, ...] = (
    *CLUSTER_OPTIONS,
    *text_options("topic", "transactionId"),
    Field("producerGroup", "text", default="glassmq_spark_writer", check=validate_group),
    Field("batchBytes", "integer", 1, default=_BATCH_BYTES),
    Field("maxMessageBytes", "integer", 1_024, 1 << 30, default=_MAX_MESSAGE_BYTES),
    # With doubling pauses from 100 ms on, a broker may be away for 12 s.
    Field("sendRetries", "integer", 0, 100, default=7),
    Field("replayCheck", "choice", default=ReplayCheck.AUTO, allowed=tuple(ReplayCheck)),
    Field("replayLookback", "integer", default=10_000),
    Field("transactionNumber", "integer", 0, 2**62, default=None),
    Field("copiesMessages", "switch", default=False),
)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The options of a write, checked as far as possible without the cluster. They are sent to the executors.

    :ivar topic: topic for rows without one of their own; None: all rows have one.
    :ivar batch_bytes: how much is sent in one request, measured as stored.
    :ivar replay_lookback: how many messages of a queue to search when there is no note for it.
    :ivar transaction_id: the user's name for this write; a write with the same name leaves out what is stored.
    :ivar transaction_number: number of this write among those with that name, which come one after the other.
    :ivar copies_messages: whether the rows are messages that were read from a topic.
    """

    cluster: ClusterOptions
    topic: str | None
    producer_group: str
    batch_bytes: int
    max_message_bytes: int
    send_retries: int
    replay_check: ReplayCheck
    replay_lookback: int
    transaction_id: str | None
    transaction_number: int | None
    copies_messages: bool

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """Parse the options. Raises :class:`RocketMQError` that names the option and what is allowed."""
        values = OptionValues(options, WRITE_OPTIONS)
        most = values.read("maxMessageBytes")
        if values.read("transactionNumber") is not None and values.text("transactionId") is None:
            raise wrong_option("transactionId", "is missing; transactionNumber counts the writes of one transactionId")
        return values.fill(
            cls,
            cluster=ClusterOptions.parse(values),
            topic=_topic(values),
            batch_bytes=values.read("batchBytes", default=min(_BATCH_BYTES, most), high=most),
        )


def check_topic(topic: str) -> str | None:
    """Return why ``topic`` cannot be sent to; None if it can."""
    try:
        validate_topic(topic)
    except IllegalName as error:
        return str(error)
    return f"{topic!r} belongs to the broker; nobody may send to it" if topic in NOT_ALLOWED_SEND_TOPICS else None


def _topic(values: OptionValues) -> str | None:
    topic = values.text("topic")
    if topic is not None and (wrong := check_topic(topic)) is not None:
        raise wrong_option("topic", wrong)
    return topic
