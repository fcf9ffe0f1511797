"""Reads a whole topic, and a group's offsets, over the wire with our pull consumer."""

from __future__ import annotations

from engine.client.consumer.default_mq_pull_consumer import DefaultMQPullConsumer
from engine.client.consumer.pull_result import PullStatus


async def read_all_bodies(name_servers, topic):
    """body -> list of (queue id, queue offset) where it lies."""
    found = {}
    async with DefaultMQPullConsumer(None, "auditor", name_servers) as consumer:
        for queue in await consumer.fetch_subscribe_message_queues(topic):
            for message in await _read_queue(consumer, queue):
                found.setdefault(message.body.decode(), []).append((message.queue_id, message.queue_offset))
    return found


async def _read_queue(consumer, queue):
    offset, end = await consumer.min_offset(queue), await consumer.max_offset(queue)
    messages = []
    while offset < end:
        result = await consumer.pull(queue, offset=offset)
        assert result.status is PullStatus.FOUND, result
        messages += result.messages
        offset = result.next_begin_offset
    return messages


async def commit_everything(name_servers, topic, group):
    """Let ``group`` confirm every message of ``topic``; (queue id -> offset) that it confirmed."""
    confirmed = {}
    async with DefaultMQPullConsumer(None, group, name_servers) as consumer:
        for queue in await consumer.fetch_subscribe_message_queues(topic):
            confirmed[queue.queue_id] = await consumer.max_offset(queue)
            consumer.update_consume_offset(queue, confirmed[queue.queue_id])
        await consumer.persist_consumer_offsets()
    return confirmed


async def stored_offsets(name_servers, topic, group):
    """queue id -> the group's offset at the broker; queues without one are left out."""
    offsets = {}
    async with DefaultMQPullConsumer(None, group, name_servers) as consumer:
        for queue in await consumer.fetch_subscribe_message_queues(topic):
            offset = await consumer.fetch_consume_offset(queue)
            if offset is not None:
                offsets[queue.queue_id] = offset
    return offsets
