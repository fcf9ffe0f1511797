"""What is checked before a message is stored (RocketMQ: ``AbstractSendMessageProcessor.msgCheck``)."""

from __future__ import annotations

import random

from engine.broker.tables.topic_config_manager import TOPIC_SYS_FLAG_UNIT, TopicConfigManager
from engine.protocol.body.topic_config import TopicConfig
from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.errors import IllegalName
from engine.protocol.names import NOT_ALLOWED_SEND_TOPICS, RETRY_GROUP_TOPIC_PREFIX, validate_topic
from engine.protocol.response_code import ResponseCode


class SendRefused(Exception):
    """A check failed; carries the reply's code and remark."""

    def __init__(self, code: ResponseCode, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


def check_topic(
    manager: TopicConfigManager, header: SendMessageRequestHeader, remote_address: str, *, is_broker_writable: bool
) -> TopicConfig:
    """The topic to send to, created from its template if need be. Raises :class:`SendRefused`."""
    topic = header.topic
    if not is_broker_writable and manager.is_order_topic(topic):
        raise SendRefused(ResponseCode.NO_PERMISSION, "this broker may not be written to (brokerPermission)")
    try:
        validate_topic(topic)
    except IllegalName as error:
        raise SendRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    if topic in NOT_ALLOWED_SEND_TOPICS:
        raise SendRefused(ResponseCode.NO_PERMISSION, f"nobody may send to system topic {topic}")
    config = manager.select_topic_config(topic)
    if config is not None:
        return config
    topic_sys_flag = TOPIC_SYS_FLAG_UNIT if header.unit_mode else 0
    config = manager.create_topic_in_send_message(
        topic, header.default_topic, remote_address, header.default_topic_queue_nums, topic_sys_flag
    )
    if config is None and topic.startswith(RETRY_GROUP_TOPIC_PREFIX):
        config = manager.create_topic_in_send_message_back(topic, 1, topic_sys_flag=topic_sys_flag)
    if config is None:
        raise SendRefused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"topic {topic} does not exist and template {header.default_topic[:127]!r} cannot create it",
        )
    return config


def choose_queue(header: SendMessageRequestHeader, config: TopicConfig, chance: random.Random) -> int:
    """The queue to use; a negative wish lets ``chance`` choose among the write queues. Raises :class:`SendRefused`."""
    queue_id = header.queue_id
    queue_nums = max(config.read_queue_nums, config.write_queue_nums)
    if queue_id >= queue_nums:
        raise SendRefused(
            ResponseCode.SYSTEM_ERROR,
            f"queue id {queue_id} of topic {config.topic_name}; allowed: 0 to {queue_nums - 1}, or -1 for any",
        )
    if queue_id >= 0:
        return queue_id
    if config.write_queue_nums <= 0:
        raise SendRefused(ResponseCode.SYSTEM_ERROR, f"topic {config.topic_name} has no queue to write to")
    return chance.randrange(config.write_queue_nums)
