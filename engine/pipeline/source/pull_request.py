"""A pull of the data source: it commits no offset, waits for nothing, and brings its subscription along.

So it leaves no trace in the broker: no member joins a group, and nobody's progress moves.
"""

from __future__ import annotations

from engine.pipeline.source.queue_offsets import QueueKey
from engine.protocol.enums import ExpressionType
from engine.protocol.pull_message_headers import PullMessageRequestHeader
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.subscription_data import SUBSCRIBE_ALL
from engine.protocol.system_flags import PULL_SUBSCRIPTION

#: How much one pull may bring where the broker knows the question (GlassMQ, RocketMQ 5); others give their 32 messages.
#: More would save few questions, and their bytes would not stay in the processor's cache.
PULL_BYTES = 512 * 1024


def make_pull_request(
    queue: QueueKey, offset: int, max_messages: int, consumer_group: str, tags: tuple[str, ...] = ()
) -> RemotingCommand:
    """Ask for up to ``max_messages`` from ``offset`` on; with ``tags`` only for those (and others of the same hash)."""
    return RemotingCommand.request(
        RequestCode.PULL_MESSAGE,
        PullMessageRequestHeader(
            consumer_group=consumer_group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            queue_offset=offset,
            max_msg_nums=max_messages,
            sys_flag=PULL_SUBSCRIPTION,
            commit_offset=0,
            suspend_timeout_millis=0,
            subscription=" || ".join(tags) or SUBSCRIBE_ALL,
            sub_version=0,
            expression_type=ExpressionType.TAG,
            max_msg_bytes=PULL_BYTES,
        ),
    )
