"""The send loop: queue selection, retries and timeouts (RocketMQ: ``DefaultMQProducerImpl``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial

from engine.client.callbacks.message_queue_selector import MessageQueueSelector
from engine.client.callbacks.send_result import SendResult, SendStatus
from engine.client.foundation.errors import (
    IllegalClientArgument,
    MQBrokerError,
    MQClientError,
    NoRoute,
    OrderTopicConfUnusable,
    RequestFailed,
    SendFailed,
)
from engine.client.instance.client_route_table import publish_queues
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.instance.topic_publish_info import TopicPublishInfo
from engine.client.producer.mq_fault_strategy import MQFaultStrategy
from engine.client.producer.producer_config import ProducerConfig
from engine.client.producer.send_kernel import Outgoing, SendKernel
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.topic_route_data import TopicRouteData
from engine.protocol.message.message import Message
from engine.runtime.future_waits import shield

#: Chooses the queue of an attempt, given the name of the broker at which the previous attempt failed.
ChooseQueue = Callable[[str | None], MessageQueue]


class DefaultMQProducerImpl:
    """A sender of prepared messages. Implements ``MQProducerInner``.

    :param instance: the client instance.
    :param group: the producer group.
    """

    def __init__(self, instance: MQClientInstance, group: str, config: ProducerConfig) -> None:
        self._instance = instance
        self._group = group
        self._config = config
        self.kernel = SendKernel(instance, group, config)
        self.fault_strategy = MQFaultStrategy(
            instance.runtime.clock,
            config.send_latency_fault_enable,
            config.latency_max_ms,
            config.not_available_duration_ms,
        )
        #: topic -> queues to send to; None until the route is known.
        self._publish_infos: dict[str, TopicPublishInfo | None] = {}
        #: topic -> why its configuration defines no queues.
        self._unusable: dict[str, OrderTopicConfUnusable] = {}
        #: Route requests in progress: sends that start meanwhile wait for the same reply.
        self._route_requests: dict[str, asyncio.Task[MQClientError | None]] = {}

    # --- MQProducerInner -------------------------------------------------------------------------------------------

    @property
    def group(self) -> str:
        """Return the producer group."""
        return self._group

    def publish_topics(self) -> Iterable[str]:
        """Return the topics that this producer has sent to, and those of :meth:`keep_route`."""
        return tuple(self._publish_infos)

    def keep_route(self, topic: str) -> None:
        """Keep the brokers of ``topic`` known before anything is sent to it."""
        self._publish_infos.setdefault(topic, None)

    def route_changed(self, topic: str, route: TopicRouteData) -> None:
        """Take over the queues of ``route``."""
        self._unusable.pop(topic, None)
        try:
            queues = publish_queues(topic, route)
        except OrderTopicConfUnusable as error:
            # A sender gets the error; a consumer of the same client is not affected.
            self._unusable[topic], queues = error, ()
        known = self._publish_infos.get(topic)
        if known is None or known.message_queues != queues:
            first = self._instance.runtime.random_for("first queue of a topic").randrange(1 << 16)
            self._publish_infos[topic] = TopicPublishInfo(queues, first) if queues else None

    # --- routes ----------------------------------------------------------------------------------------------------

    async def publish_info(self, topic: str) -> TopicPublishInfo:
        """Return the queues of ``topic`` (``tryToFindTopicPublishInfo``).

        A topic that does not exist gets the queues that the first message will create. Raises :class:`NoRoute` if there
        is no queue to send to, and the errors of the request to the name server.
        """
        info = self._publish_infos.setdefault(topic, None)
        if info is None:
            request = self._route_requests.get(topic)
            if request is None:
                request = asyncio.create_task(self._request_route(topic), name=f"route of {topic}")
                self._route_requests[topic] = request
                request.add_done_callback(lambda _: self._route_requests.pop(topic, None))
            failure = await shield(request)
            if failure is not None:
                raise failure
            info = self._publish_infos.get(topic)
        if info is None:
            text = f"topic {topic!r} has no queue to send to: not writable, or its master is down"
            raise self._unusable.get(topic) or NoRoute(text)
        return info

    async def _request_route(self, topic: str) -> MQClientError | None:
        """Return the error instead of raising it, because many callers may wait for it, or none."""
        try:
            try:
                await self._instance.update_route(topic)
            except NoRoute:
                await self._instance.update_route_by_default_topic(topic, self._config.default_topic_queue_nums)
        except MQClientError as error:
            return error
        return None

    # --- sending ---------------------------------------------------------------------------------------------------

    async def send(self, outgoing: Outgoing, timeout_ms: int) -> SendResult:
        """Send to the next queue; on failure to another broker (``sendDefaultImpl``)."""
        started_us = self._instance.runtime.clock.monotonic_us()
        info = await self.publish_info(outgoing.topic)
        tries = 1 + self._config.retry_times_when_send_failed
        choose = partial(self.fault_strategy.select_one_message_queue, info)
        return await self._try(outgoing, choose, tries, self._is_worth_a_retry, started_us, timeout_ms)

    async def send_async(self, outgoing: Outgoing, queue: MessageQueue | None, timeout_ms: int) -> SendResult:
        """Send as ``send`` does, for asynchronous sends: a refusal is final, and only a timeout is retried."""
        started_us = self._instance.runtime.clock.monotonic_us()
        info = await self.publish_info(outgoing.topic)
        tries = 1 + self._config.retry_times_when_send_async_failed
        choose: ChooseQueue
        if queue is None:
            choose = partial(self.fault_strategy.select_one_message_queue, info)
        else:
            # RocketMQ retries at the same broker, whose queue it is.
            choose = lambda _: queue  # noqa: E731  # a function for this one line would say no more
        return await self._try(outgoing, choose, tries, _got_no_reply, started_us, timeout_ms)

    async def send_to(self, outgoing: Outgoing, queue: MessageQueue, timeout_ms: int) -> SendResult:
        """Send to this queue only, with one attempt."""
        await self.publish_info(outgoing.topic)
        return await self.kernel.send(outgoing, queue, timeout_ms)

    async def send_oneway(self, outgoing: Outgoing, queue: MessageQueue | None) -> None:
        """Send without a reply, with one attempt."""
        info = await self.publish_info(outgoing.topic)
        chosen = queue or self.fault_strategy.select_one_message_queue(info, None)
        try:
            await self.kernel.send_oneway(outgoing, chosen)
        except MQClientError:
            self.fault_strategy.update_fault_item(chosen.broker_name, 0, isolation=True)
            raise

    async def select(self, message: Message, selector: MessageQueueSelector, argument: object) -> MessageQueue:
        """Return the queue that the user's ``selector`` chooses. Raises :class:`IllegalClientArgument` if it is
        invalid.
        """
        info = await self.publish_info(message.topic)
        queue: object = selector(info.message_queues, message, argument)
        if queue not in info.message_queues:
            raise IllegalClientArgument(
                f"the selector returned {queue!r}; expected one of the {len(info.message_queues)} queues it was given"
            )
        assert isinstance(queue, MessageQueue)
        return queue

    async def _try(
        self,
        outgoing: Outgoing,
        choose_queue: ChooseQueue,
        tries: int,
        is_worth_a_retry: Callable[[MQClientError], bool],
        started_us: int,
        timeout_ms: int,
    ) -> SendResult:
        """Retry until success, a final refusal, or the end of attempts or time. The timeout covers all attempts."""
        clock = self._instance.runtime.clock
        attempts: list[tuple[str, MQClientError]] = []
        not_quite_ok: SendResult | None = None
        last_broker_name: str | None = None
        elapsed_ms = 0
        for _ in range(tries):
            elapsed_ms = (clock.monotonic_us() - started_us) // 1000
            if elapsed_ms >= timeout_ms:
                break
            queue = choose_queue(last_broker_name)
            last_broker_name = queue.broker_name
            try:
                result = await self._judged(outgoing, queue, timeout_ms - elapsed_ms)
            except MQClientError as error:
                attempts.append((queue.broker_name, error))
                if not is_worth_a_retry(error):
                    break
                continue
            if result.status is SendStatus.SEND_OK or not self._config.retry_another_broker_when_not_store_ok:
                return result
            not_quite_ok = result
        if not_quite_ok is not None:
            return not_quite_ok
        raise _failure(outgoing, attempts, (clock.monotonic_us() - started_us) // 1000, timeout_ms)

    async def _judged(self, outgoing: Outgoing, queue: MessageQueue, timeout_ms: int) -> SendResult:
        """Make one attempt and record its outcome for the choice of the next queues."""
        clock = self._instance.runtime.clock
        begun_us = clock.monotonic_us()
        failed = True
        try:
            result = await self.kernel.send(outgoing, queue, timeout_ms)
            failed = False
            return result
        except asyncio.CancelledError:
            failed = False
            raise
        finally:
            latency_ms = (clock.monotonic_us() - begun_us) // 1_000
            self.fault_strategy.update_fault_item(queue.broker_name, latency_ms, isolation=failed)

    def _is_worth_a_retry(self, error: MQClientError) -> bool:
        """Return whether to retry: after a timeout always; after a refusal if another broker may accept."""
        return not isinstance(error, MQBrokerError) or error.code in self._config.retry_response_codes


def _got_no_reply(error: MQClientError) -> bool:
    return isinstance(error, RequestFailed)


def _failure(
    outgoing: Outgoing, attempts: list[tuple[str, MQClientError]], elapsed_ms: int, timeout_ms: int
) -> MQClientError:
    """Return the error after the last attempt: a single refusal as it is, else all attempts together."""
    if len(attempts) == 1 and isinstance(attempts[0][1], MQBrokerError):
        return attempts[0][1]
    if not attempts:
        return RequestFailed(
            f"the send to topic {outgoing.topic!r} ran out of its {timeout_ms} ms before the first try",
            outcome_is_known=True,
        )
    reported = "; ".join(f"{broker}: {error}" for broker, error in attempts)
    known = all(error.outcome_is_known for _, error in attempts)
    advice = "it is certainly not stored" if known else "it may be stored all the same"
    return SendFailed(
        f"tried {len(attempts)} times in {elapsed_ms} ms (of {timeout_ms} allowed) to send message "
        f"{outgoing.unique_id} to topic {outgoing.topic!r}; {advice}. {reported}",
        tuple(attempts),
    )
