"""A limit on the messages per second that producers may send (not in RocketMQ 4.9; off by default).

RocketMQ's broker refuses messages only when it is itself overloaded: its send queue is longer than 200 ms
(``[TIMEOUT_CLEAN_ QUEUE]``), the page cache is busy (``[PCBUSY_CLEAN_QUEUE]``), the thread pool is full
(``[OVERLOAD]``); each time with code 2, SYSTEM_BUSY. None of these considers consumers. A limit helps a group with a
backlog: the sender sends fewer messages. It answers with the same code, so real clients behave as they do then: they
throw immediately, because producers do not retry on code 2 (``retryResponseCodes``), and the application decides which
messages it can do without.

A bucket holds as many tokens as a second brings, and a message takes one: an idle sender may send a second's worth in a
burst. A batch is admitted as a whole if anything is left; what it takes in excess is deducted afterwards. Retry and
dead-letter topics have no limit: messages that consumers send back must not be lost. Replies to requests (324, 325) are
sends to the cluster's reply topic; a refused one is neither delivered nor stored.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.foundation.token_bucket import TokenBucket
from engine.protocol.names import is_dlq_topic, is_retry_topic
from engine.protocol.response_code import ResponseCode
from engine.remoting.errors import RequestRefused


class SendRateLimit:
    """The token buckets of one broker.

    :ivar refused: topic -> messages refused because of a limit.
    """

    def __init__(self, config: BrokerConfig, monotonic_us: Callable[[], int]) -> None:
        self._monotonic_us = monotonic_us
        self._per_topic = config.send_rate_limit_per_topic
        self._of_broker = TokenBucket(config.send_rate_limit, monotonic_us()) if config.send_rate_limit else None
        #: The buckets by topic; only existing topics get one.
        self._of_topics: dict[str, TokenBucket] = {}
        self.refused: dict[str, int] = {}

    def admit(self, topic: str, count: int) -> None:
        """Admit ``count`` messages for ``topic`` that are about to be stored. Raises :class:`RequestRefused` over the
        limit.
        """
        if is_retry_topic(topic) or is_dlq_topic(topic):
            return
        now_us = self._monotonic_us()
        of_topic = self._bucket_of(topic, now_us)
        if of_topic is not None and not of_topic.has_any(now_us):
            self._refuse(topic, count, f"topic {topic} takes {of_topic.per_second} messages a second", "PerTopic")
        if self._of_broker is not None:
            if not self._of_broker.has_any(now_us):
                self._refuse(topic, count, f"the broker takes {self._of_broker.per_second} messages a second", "")
            self._of_broker.take(count)
        if of_topic is not None:
            of_topic.take(count)

    def _bucket_of(self, topic: str, now_us: int) -> TokenBucket | None:
        if not self._per_topic:
            return None
        bucket = self._of_topics.get(topic)
        if bucket is None:
            bucket = self._of_topics[topic] = TokenBucket(self._per_topic, now_us)
        return bucket

    def _refuse(self, topic: str, count: int, limit: str, setting: str) -> None:
        self.refused[topic] = self.refused.get(topic, 0) + count
        raise RequestRefused(
            f"[RATE_LIMIT] {limit} (sendRateLimit{setting}); try again later", ResponseCode.SYSTEM_BUSY
        )


def make_send_rate_limit(config: BrokerConfig, monotonic_us: Callable[[], int]) -> SendRateLimit | None:
    """Create the limit; None if none is configured."""
    if not config.send_rate_limit and not config.send_rate_limit_per_topic:
        return None
    return SendRateLimit(config, monotonic_us)
