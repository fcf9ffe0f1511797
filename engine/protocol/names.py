"""Names of system topics and groups, prefixes, and the rules for valid names (``TopicValidator``, ``MixAll``)."""

from __future__ import annotations

import re
from typing import Final

from engine.protocol.errors import IllegalName

#: The template for auto-created topics ("to be watched", as RocketMQ calls it).
AUTO_CREATE_TOPIC_KEY_TOPIC: Final = "TBW102"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
TRANSACTION_HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
TRANSACTION_OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
TRANSACTION_CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
#: The group under which the broker stores its progress through half and op messages.
TRANSACTION_CHECK_GROUP: Final = "CID_RMQ_SYS_TRANS"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
OFFSET_MOVED_EVENT_TOPIC: Final = "OFFSET_MOVED_EVENT"
REPLY_TOPIC_POSTFIX: Final = "REPLY_TOPIC"

SYSTEM_TOPIC_PREFIX: Final = "rmq_sys_"
RETRY_GROUP_TOPIC_PREFIX: Final = "%RETRY%"
DLQ_GROUP_TOPIC_PREFIX: Final = "%DLQ%"

SYSTEM_TOPICS: Final = (
    AUTO_CREATE_TOPIC_KEY_TOPIC,
    SCHEDULE_TOPIC,
    BENCHMARK_TOPIC,
    TRANSACTION_HALF_TOPIC,
    TRANSACTION_OP_HALF_TOPIC,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRACE_TOPIC,
    SELF_TEST_TOPIC,
    OFFSET_MOVED_EVENT_TOPIC,
)

#: Topics that a client may not send to.
NOT_ALLOWED_SEND_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANSACTION_HALF_TOPIC,
        TRANSACTION_OP_HALF_TOPIC,
        TRANSACTION_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT_TOPIC,
    }
)

TOOLS_CONSUMER_GROUP: Final = "TOOLS_CONSUMER"
CLIENT_INNER_PRODUCER_GROUP: Final = "CLIENT_INNER_PRODUCER"
DEFAULT_PRODUCER_GROUP: Final = "DEFAULT_PRODUCER"
DEFAULT_CONSUMER_GROUP: Final = "DEFAULT_CONSUMER"
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"

#: Groups that exist on every broker from its start.
SYSTEM_GROUPS: Final = (
    TOOLS_CONSUMER_GROUP,
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)

TOPIC_MAX_LENGTH: Final = 127
GROUP_MAX_LENGTH: Final = 255

_LEGAL_NAME: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_ALLOWED: Final = "letters, digits and % | - _"


def _validate(kind: str, name: str, max_length: int) -> None:
    if not name or not name.strip():
        raise IllegalName(f"the {kind} name is blank; allowed: {_ALLOWED}, at most {max_length} characters")
    if len(name) > max_length:
        raise IllegalName(f"the {kind} name has {len(name)} characters; allowed: at most {max_length}")
    if _LEGAL_NAME.fullmatch(name) is None:
        raise IllegalName(f"the {kind} name {name!r} holds an illegal character; allowed: {_ALLOWED}")


def validate_topic(name: str) -> None:
    """Raise :class:`IllegalName` unless ``name`` may be a topic."""
    _validate("topic", name, TOPIC_MAX_LENGTH)


def validate_group(name: str) -> None:
    """Raise :class:`IllegalName` unless ``name`` may be a producer or consumer group."""
    _validate("group", name, GROUP_MAX_LENGTH)


def retry_topic(group: str) -> str:
    """Return the topic that holds messages which ``group`` failed to consume and will receive again."""
    return RETRY_GROUP_TOPIC_PREFIX + group


def dlq_topic(group: str) -> str:
    """Return the dead-letter topic of ``group``."""
    return DLQ_GROUP_TOPIC_PREFIX + group


def is_retry_topic(topic: str) -> bool:
    """Return True for the retry topic of any group."""
    return topic.startswith(RETRY_GROUP_TOPIC_PREFIX)


def is_dlq_topic(topic: str) -> bool:
    """Return True for the dead-letter topic of any group."""
    return topic.startswith(DLQ_GROUP_TOPIC_PREFIX)


def group_of_retry_or_dlq_topic(topic: str) -> str | None:
    """Return the group whose retry or dead-letter topic this is, or None."""
    for prefix in (RETRY_GROUP_TOPIC_PREFIX, DLQ_GROUP_TOPIC_PREFIX):
        if topic.startswith(prefix):
            return topic[len(prefix) :]
    return None


def is_system_topic(topic: str) -> bool:
    """Return True for topics that are internal to the broker."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_TOPIC_PREFIX)


def is_system_group(group: str) -> bool:
    """Return True for groups that are internal to the broker or its tools."""
    return group in SYSTEM_GROUPS or group.startswith(SYSTEM_GROUP_PREFIX)


def reply_topic(cluster_name: str) -> str:
    """Return the topic that carries replies of request-reply within ``cluster_name``."""
    return f"{cluster_name}_{REPLY_TOPIC_POSTFIX}"
