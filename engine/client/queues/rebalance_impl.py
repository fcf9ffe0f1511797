"""Rebalance: the allocation of queues to this consumer and the effects of its changes (RocketMQ: ``RebalanceImpl``).

Every member of a group does this by itself every 20 s, and immediately when a broker reports that the group has
changed. For a moment two members may disagree and both own a queue: concurrent consumption then delivers messages
twice. Ordered consumption must not: there a member first locks a queue at the broker, and does not consume queues that
another one has locked.
"""

from __future__ import annotations

import dataclasses
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence

from engine.client.allocation.allocate_message_queue_strategy import AllocateMessageQueueStrategy
from engine.client.foundation.errors import MQClientError
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.queues.process_queue import ProcessQueue
from engine.client.queues.pull_request import PullRequest
from engine.protocol.body.bodies import LockBatchRequestBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.enums import MessageModel
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")


class RebalanceImpl(ABC):
    """The rebalance of one consumer, with its table of process queues.

    :ivar is_orderly: the listener wants the messages of a queue one after the other; set before the start.
    :ivar lock_timeout_ms: the timeout of lock requests.
    """

    is_orderly = False
    lock_timeout_ms = 1_000

    def __init__(
        self,
        instance: MQClientInstance,
        group: str,
        message_model: MessageModel,
        strategy: AllocateMessageQueueStrategy,
    ) -> None:
        self.instance = instance
        self.group = group
        self.message_model = message_model
        self.strategy = strategy
        #: The queues that this consumer owns at present (``processQueueTable``).
        self.process_queue_table: dict[MessageQueue, ProcessQueue] = {}
        #: topic -> its readable queues, sorted (``topicSubscribeInfoTable``).
        self.topic_subscribe_info: dict[str, tuple[MessageQueue, ...]] = {}
        #: topic -> its subscription (``subscriptionInner``).
        self.subscriptions: dict[str, SubscriptionData] = {}
        #: The same as brokers received it with the last heartbeat (``pull_announced_version``).
        self.subscriptions_at_brokers: dict[str, SubscriptionData] = {}

    @property
    def needs_broker_locks(self) -> bool:
        """Return whether a queue must be locked at its broker. A broadcasting consumer does not share its queues.

        RocketMQ 4.9.8 also locks for broadcasting consumers, so that only one of them gets each queue.
        """
        return self.is_orderly and self.message_model is MessageModel.CLUSTERING

    async def do_rebalance(self) -> None:
        """Compute this consumer's queues; release and acquire queues accordingly."""
        for topic in list(self.subscriptions):
            await self._rebalance_by_topic(topic)
        await self._give_up_queues_of_other_topics()

    async def _rebalance_by_topic(self, topic: str) -> None:
        queues = self.topic_subscribe_info.get(topic)
        if queues is None:
            _log.debug("group %s: no route for %s yet, nothing to rebalance", self.group, topic)
            return
        if self.message_model is MessageModel.BROADCASTING:
            mine: Sequence[MessageQueue] = queues
        else:
            client_ids = await self.instance.find_consumer_ids(topic, self.group)
            if not client_ids:
                _log.info("group %s: the members are not known, queues of %s stay as they are", self.group, topic)
                return
            mine = self.strategy.allocate(self.group, self.instance.client_id, queues, sorted(client_ids))
        if await self._update_process_queue_table(topic, dict.fromkeys(mine)):
            _log.info("group %s: %s now owns of %s: %s", self.group, self.instance.client_id, topic, _ids(mine))
            await self._announce_change(topic)

    # --- the process queue table -----------------------------------------------------------------------------------

    async def _update_process_queue_table(self, topic: str, mine: dict[MessageQueue, None]) -> bool:
        """Make the table contain exactly ``mine`` of ``topic``. Return whether anything changed."""
        changed = False
        for queue, process_queue in list(self.process_queue_table.items()):
            if queue.topic != topic:
                continue
            if queue not in mine or self._is_half_given_up(process_queue):
                changed |= await self._give_up(queue, process_queue)
            elif process_queue.is_pull_expired:
                _log.error("group %s: %s was not pulled for too long; it is acquired again", self.group, queue)
                changed |= await self._give_up(queue, process_queue)
        pull_requests = []
        for queue in mine:
            if queue not in self.process_queue_table:
                pull_request = await self._take_over(queue)
                if pull_request is not None:
                    pull_requests.append(pull_request)
        self.dispatch_pull_requests(pull_requests)
        return changed or bool(pull_requests)

    def _is_half_given_up(self, process_queue: ProcessQueue) -> bool:
        """Return whether the queue is assigned again before its listener released it.

        RocketMQ leaves such a queue idle until its pull expires.
        """
        return self.needs_broker_locks and process_queue.dropped and process_queue.try_unlock_times > 0

    async def _give_up(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        await step("marks the process queue dropped")
        process_queue.drop()
        if not await self.remove_unnecessary_message_queue(queue, process_queue):
            return False
        await step("removes the process queue")
        if self.process_queue_table.get(queue) is process_queue:
            del self.process_queue_table[queue]
        return True

    async def _take_over(self, queue: MessageQueue) -> PullRequest | None:
        """Return a pull request for a newly assigned queue; None if it must wait for the next round."""
        if self.needs_broker_locks and not await self.lock(queue):
            _log.info("group %s: %s is locked by somebody else, the next rebalance tries again", self.group, queue)
            return None
        self.remove_dirty_offset(queue)
        process_queue = self.create_process_queue(queue)
        if self.is_orderly:
            # Here, not after the next request: the lease runs since the broker's reply.
            process_queue.hold_lock()
        try:
            next_offset = await self.compute_pull_from_where(queue)
        except MQClientError as error:
            _log.warning("group %s cannot begin with %s, the next rebalance tries again: %s", self.group, queue, error)
            return None
        await step("adds the process queue")
        if queue in self.process_queue_table:
            return None
        self.process_queue_table[queue] = process_queue
        return PullRequest(queue, process_queue, next_offset)

    async def _give_up_queues_of_other_topics(self) -> None:
        """Release the queues of topics that are no longer subscribed."""
        for queue, process_queue in list(self.process_queue_table.items()):
            if queue.topic not in self.subscriptions:
                await self._give_up(queue, process_queue)

    async def remove_process_queue(self, queue: MessageQueue) -> None:
        """Release one queue; the next rebalance acquires it again if it is still assigned."""
        process_queue = self.process_queue_table.get(queue)
        if process_queue is not None:
            await self._give_up(queue, process_queue)

    def drop_all(self) -> None:
        """Drop all queues, because the consumer ends (``destroy``)."""
        for process_queue in self.process_queue_table.values():
            process_queue.drop()
        self.process_queue_table.clear()

    # --- broker locks ----------------------------------------------------------------------------------------------

    async def lock(self, queue: MessageQueue) -> bool:
        """Lock one queue at its broker, or renew the lock. Return whether this client has it now."""
        await step("locks the queue at the broker")
        return queue in await self._lock_batch(queue.broker_name, (queue,))

    async def lock_all(self) -> None:
        """Renew the locks of all queues; a queue that another client has meanwhile is unlocked here."""
        await step("reads which queues to lock")
        for broker_name, queues in self._queues_by_broker().items():
            await self._lock_batch(broker_name, queues)

    async def _lock_batch(self, broker_name: str, queues: Sequence[MessageQueue]) -> Sequence[MessageQueue]:
        """Send a lock request to one broker and apply its reply; a failure changes nothing. Return the locked
        queues.
        """
        body = LockBatchRequestBody(self.group, self.instance.client_id, tuple(queues))
        try:
            address = self.instance.route_table.master_address(broker_name)
            locked = await self.instance.consumer_api.lock_batch_mq(address, body, self.lock_timeout_ms)
        except MQClientError as error:
            _log.warning("group %s: %s", self.group, error)
            return ()
        await step("notes the broker's answer in the process queues")
        for queue in queues:
            process_queue = self.process_queue_table.get(queue)
            if process_queue is None:
                continue
            if queue in locked:
                process_queue.hold_lock()
            elif process_queue.locked:
                process_queue.lose_lock()
                _log.warning("group %s: the lock of %s is lost", self.group, queue)
        return locked

    async def unlock(self, queue: MessageQueue) -> None:
        """Release one queue at its broker, oneway: a lock that stays by mistake expires by itself."""
        await step("unlocks the queue at the broker")
        await self._unlock_batch(queue.broker_name, (queue,), timeout_ms=None)

    async def unlock_all(self) -> None:
        """Release all queues, because this consumer ends."""
        await step("reads which queues to unlock")
        for broker_name, queues in self._queues_by_broker().items():
            await self._unlock_batch(broker_name, queues, self.lock_timeout_ms)
            for queue in queues:
                if queue in self.process_queue_table:
                    self.process_queue_table[queue].lose_lock()

    async def _unlock_batch(self, broker_name: str, queues: Sequence[MessageQueue], timeout_ms: int | None) -> None:
        body = LockBatchRequestBody(self.group, self.instance.client_id, tuple(queues))
        try:
            address = self.instance.route_table.master_address(broker_name)
            await self.instance.consumer_api.unlock_batch_mq(address, body, timeout_ms)
        except MQClientError as error:
            _log.warning("group %s: %s", self.group, error)

    def _queues_by_broker(self) -> dict[str, list[MessageQueue]]:
        """Return the owned queues by broker, including those being released, whose listener may still run."""
        queues: dict[str, list[MessageQueue]] = {}
        for queue in self.process_queue_table:
            queues.setdefault(queue.broker_name, []).append(queue)
        return queues

    # --- after a change --------------------------------------------------------------------------------------------

    async def _announce_change(self, topic: str) -> None:
        """Raise the subscription's version and send it to all brokers immediately (``messageQueueChanged``)."""
        await step("raises the version of the subscription")
        subscription = self.subscriptions.get(topic)
        if subscription is not None:
            version = max(self.instance.runtime.clock.now_ms(), subscription.sub_version + 1)
            self.subscriptions[topic] = dataclasses.replace(subscription, sub_version=version)
        self.queues_changed()
        await self.instance.send_heartbeat_to_all_brokers()

    # --- differences between consumers -----------------------------------------------------------------------------

    @abstractmethod
    def create_process_queue(self, queue: MessageQueue) -> ProcessQueue:
        """Create a new, empty process queue."""

    @abstractmethod
    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Store the progress of a dropped ``process_queue``. False: it cannot be released yet, try again next time."""

    @abstractmethod
    def queues_changed(self) -> None:
        """Handle a change of the process queue table."""

    @abstractmethod
    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """Remove progress from when the queue was owned before."""

    @abstractmethod
    async def compute_pull_from_where(self, queue: MessageQueue) -> int:
        """Return the offset to begin with. Raises :class:`MQClientError` if it cannot be determined now."""

    @abstractmethod
    def dispatch_pull_requests(self, pull_requests: Sequence[PullRequest]) -> None:
        """Start to pull the acquired queues."""


def _ids(queues: Sequence[MessageQueue]) -> str:
    return ", ".join(f"{queue.broker_name}:{queue.queue_id}" for queue in queues) or "nothing"
