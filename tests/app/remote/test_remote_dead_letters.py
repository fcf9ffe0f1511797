"""Listing and resending dead letters of a broker: which ones, and how many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.remote import remote_dead_letters
from app.remote.cluster_reader import ClusterReader
from app.remote.own_broker import OwnBroker, OwnServers
from app.remote.remote_dead_letters import RemoteDeadLetters, ResendReport
from engine.broker.delivery.dead_letter import DeadLetterRefusal, ResendTo
from engine.protocol.names import dlq_topic, retry_topic
from engine.protocol.response_code import ResponseCode
from tests.engine.broker.lab_broker import BrokerLab, broker_lab

GROUP = "consumers"
RETRY, DLQ = retry_topic(GROUP), dlq_topic(GROUP)


@pytest.fixture
def lab() -> Iterator[BrokerLab]:
    """Four dead letters, k0 to k3, all first sent to queue 3 of T."""
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic("T", queues=4)
        for number in range(4):
            client.send(keys=f"k{number}", properties={"UNIQ_KEY": f"U{number}"}, queue_id=3)
        for message in [client.messages(queue_id=3, offset=number)[0] for number in range(4)]:
            assert client.send_back(message, delay_level=-1).code == ResponseCode.SUCCESS
        lab.run_for(100)
        yield lab


def dead_letters(lab: BrokerLab) -> RemoteDeadLetters:
    servers = OwnServers(lab.broker.runtime, lambda: (lab.broker,))
    return RemoteDeadLetters(OwnBroker(ClusterReader(servers, ()), lab.broker))


def run(lab: BrokerLab, work):
    return lab.world.run(work, node="broker-a")


def page(lab: BrokerLab, start: int, count: int):
    async def read():
        found = await dead_letters(lab).of_group(GROUP)
        return await dead_letters(lab).page(found, start, count)

    return run(lab, read())


async def from_number(lab: BrokerLab, start: int, to: ResendTo = ResendTo.GROUP) -> ResendReport:
    found = await dead_letters(lab).of_group(GROUP)
    return await dead_letters(lab).resend_from(found, start, to)


def resend_from(lab: BrokerLab, start: int) -> ResendReport:
    return run(lab, from_number(lab, start))


def resend_named(lab: BrokerLab, *names: str) -> ResendReport:
    return run(lab, dead_letters(lab).resend_named(GROUP, names, ResendTo.GROUP, anyway=False))


def keys(report: ResendReport) -> list[str]:
    return [one.dead.keys[0] for one in report.resent]


def test_all_are_resent_a_few_at_a_time_and_the_last_call_says_that_there_are_no_more(
    lab: BrokerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_dead_letters, "RESEND_MAX", 2)
    first = resend_from(lab, 0)
    assert (keys(first), first.next_number) == (["k0", "k1"], 2)
    last = resend_from(lab, 2)
    assert (keys(last), last.next_number) == (["k2", "k3"], None)
    assert lab.broker.store.max_offset(RETRY, 0) == 4


def test_what_is_not_kept_any_more_is_passed_over(lab: BrokerLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_dead_letters, "RESEND_MAX", 2)
    (queue,) = [queue for topic, _, queue in lab.broker.store.consume_queues() if topic == DLQ]
    queue.min_offset = 2
    report = resend_from(lab, 0)
    assert (keys(report), report.next_number) == (["k2", "k3"], None)


@settings(max_examples=25)
@given(
    queue_ids=st.lists(st.integers(0, 3), max_size=15),
    start=st.integers(0, 20),
    count=st.integers(0, 20),
    expired=st.integers(0, 15),
)
def test_the_dead_letters_of_all_queues_are_one_sequence_in_the_order_of_the_log(queue_ids, start, count, expired):
    with broker_lab() as lab:
        client = lab.client()
        client.create_topic(DLQ, queues=4)
        for number, queue_id in enumerate(queue_ids):
            client.send(DLQ, str(number).encode(), queue_id=queue_id)
        lab.run_for(100)
        kept = list(range(min(expired, max(0, len(queue_ids) - 1)), len(queue_ids)))
        if kept:
            (oldest,) = page(lab, kept[0], 1)
            for topic, _, queue in lab.broker.store.consume_queues():
                if topic == DLQ:
                    queue.correct_min_offset(oldest.commit_log_offset)
            (group,) = run(lab, dead_letters(lab).groups())
            assert (group.min_number, group.max_number, group.count) == (kept[0], len(queue_ids), len(kept))
        expected = [number for number in kept if number >= start][:count]
        first = max(start, kept[0] if kept else 0)
        assert [int(dead.body) for dead in page(lab, first, count)] == expected


def test_those_in_other_queues_are_resent_too(lab: BrokerLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_dead_letters, "RESEND_MAX", 3)
    client = lab.client("sender")
    client.create_topic(DLQ, queues=3)
    for number in (4, 5):
        client.send(DLQ, keys=f"k{number}", properties={"UNIQ_KEY": f"U{number}"}, queue_id=number - 3)
    lab.run_for(100)
    first = resend_from(lab, 0)
    last = resend_from(lab, first.next_number or 0)
    assert keys(first) + keys(last) == [f"k{number}" for number in range(6)]
    assert last.next_number is None
    assert keys(resend_from(lab, 0)) == []


def test_a_dead_letter_that_is_named_twice_or_by_two_at_once_is_resent_once(lab: BrokerLab) -> None:
    (dead,) = page(lab, 0, 1)
    report = resend_named(lab, "k0", "U0", dead.offset_message_id)
    assert (keys(report), report.already) == (["k0"], 2)

    async def three_at_once() -> list[ResendReport]:
        return await asyncio.gather(*(from_number(lab, 0) for _ in range(3)))

    reports = lab.world.run(three_at_once(), node="broker-a")
    assert sorted(key for report in reports for key in keys(report)) == ["k1", "k2", "k3"]
    assert sum(report.already for report in reports) == 3 * 4 - 3


def test_a_message_that_is_no_dead_letter_of_the_group_is_none_whatever_it_is_called(lab: BrokerLab) -> None:
    (living,) = lab.client("other").messages(queue_id=3, max_messages=1)
    report = resend_named(lab, living.offset_message_id)
    ((_, refused),) = report.failed
    assert refused.refusal is DeadLetterRefusal.NO_SUCH
    assert not report.resent
