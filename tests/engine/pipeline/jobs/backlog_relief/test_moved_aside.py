"""What a listener need not do: the marks that a job set, read from a broker that may be slow or away."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from engine.client.foundation.errors import OffsetNotFound, RequestFailed
from engine.pipeline.jobs.backlog_relief.moved_aside import REFRESH_INTERVAL_MS, LowPriority, MovedAside, mark_groups
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt

QUEUE, RETRY_QUEUE = MessageQueue("Orders", "broker-a", 1), MessageQueue("%RETRY%g", "broker-a", 0)


class Broker:
    """Keeps marks; stands for everything that a consumer has besides its listener."""

    def __init__(self, start, end):
        names = mark_groups("g", LowPriority.parse("bulk"))
        self.marks = {(names[0], QUEUE): start, (names[1], QUEUE): end}
        self.now_ms, self.asked, self.is_away = 0, 0, False
        self.group = "g"
        self.instance = SimpleNamespace(
            runtime=SimpleNamespace(clock=SimpleNamespace(now_ms=lambda: self.now_ms)),
            route_table=SimpleNamespace(master_address=lambda name: "127.0.0.1:10911"),
            consumer_api=self,
        )

    async def query_consumer_offset(self, address, group, queue):
        self.asked += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise RequestFailed("away", outcome_is_known=True)
        if (group, queue) not in self.marks:
            raise OffsetNotFound(22, "none", address, "tell")
        return self.marks[group, queue]


def aside_of(broker: Any) -> MovedAside:
    return MovedAside(broker, "bulk")


def low(*offsets, tags="bulk"):
    return [stored({"TAGS": tags}, offset) for offset in offsets]


def stored(properties, offset=0):
    return MessageExt(
        topic="Orders",
        body=b"x",
        properties=properties,
        queue_id=QUEUE.queue_id,
        queue_offset=offset,
        commit_log_offset=0,
        born_timestamp=0,
        born_host="127.0.0.1:1",
        store_timestamp=0,
        store_host="127.0.0.1:2",
    )


async def offsets(aside, messages, queue=QUEUE):
    return [message.queue_offset for message in await aside.kept(messages, queue)]


def test_only_low_ones_inside_of_the_range_are_left_out():
    aside = aside_of(Broker(10, 20))
    assert asyncio.run(offsets(aside, low(9, 10, 19, 20) + low(11, tags="pay"))) == [9, 20, 11]
    assert aside.left_out == 2


def test_what_comes_from_the_retry_topic_is_worked_on():
    assert asyncio.run(offsets(aside_of(Broker(10, 20)), low(15), RETRY_QUEUE)) == [15]


def test_marks_are_asked_for_once_a_second_and_shared_by_calls_side_by_side():
    broker = Broker(10, 20)

    async def main():
        aside = aside_of(broker)
        assert await asyncio.gather(*(offsets(aside, low(15)) for _ in range(5))) == [[]] * 5
        assert broker.asked == 2
        broker.marks[mark_groups("g", aside.rule)[1], QUEUE] = 30
        broker.now_ms = REFRESH_INTERVAL_MS - 1
        assert await offsets(aside, low(25)) == [25]
        broker.now_ms += 1
        assert await offsets(aside, low(25)) == []

    asyncio.run(main())


def test_marks_that_move_while_they_are_read_never_make_a_range_too_wide():
    """The job ends one range and begins a later one: 12 is between them and was not stored."""
    broker = Broker(0, 10)
    from_group, to_group = mark_groups("g", LowPriority.parse("bulk"))
    read = broker.query_consumer_offset

    async def then_the_job_moves_on(address, group, queue):
        mark = await read(address, group, queue)
        broker.marks.update({(from_group, QUEUE): 20, (to_group, QUEUE): 30})
        return mark

    broker.query_consumer_offset = then_the_job_moves_on
    assert asyncio.run(offsets(aside_of(broker), low(12))) == [12]


def test_a_call_that_is_given_up_leaves_the_reading_to_the_others():
    broker = Broker(10, 20)

    async def main():
        aside = aside_of(broker)
        calls = [asyncio.create_task(offsets(aside, low(15))) for _ in range(2)]
        await asyncio.sleep(0)
        calls[0].cancel()
        assert await calls[1] == []

    asyncio.run(main())


def test_a_broker_that_is_away_leaves_the_last_marks_and_without_any_all_is_worked_on():
    broker = Broker(10, 20)

    async def main():
        aside, late = aside_of(broker), aside_of(broker)
        assert await offsets(aside, low(15)) == []
        broker.is_away, broker.now_ms = True, REFRESH_INTERVAL_MS
        assert await offsets(aside, low(15)) == [] and await offsets(late, low(15)) == [15]

    asyncio.run(main())


def test_a_rule_is_tags_in_any_order_or_a_property():
    assert LowPriority.parse(" report, bulk ,bulk") == LowPriority(("bulk", "report"))
    rule = LowPriority.parse("level = low")
    assert (rule.property_name, rule.property_value, str(rule)) == ("level", "low", "level=low")
    assert rule.has(stored({"level": "low"})) and not rule.has(stored({}))
    assert mark_groups("g", LowPriority.parse("a,b")) == mark_groups("g", LowPriority.parse("b,a"))
    assert mark_groups("g", LowPriority.parse("a,b")) != mark_groups("g", LowPriority.parse("a"))


@pytest.mark.parametrize("text", ["", " , ", "=low", "level="])
def test_a_rule_that_says_nothing_is_refused(text):
    with pytest.raises(ValueError, match=r"tags .* or a property"):
        LowPriority.parse(text)
