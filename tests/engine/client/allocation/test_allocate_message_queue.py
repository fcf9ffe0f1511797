"""All strategies: every queue has exactly one owner, and each strategy's own promise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import (
    AllocateMachineRoomNearby,
    AllocateMessageQueueAveragely,
    AllocateMessageQueueAveragelyByCircle,
    AllocateMessageQueueByConfig,
    AllocateMessageQueueByMachineRoom,
    AllocateMessageQueueConsistentHash,
    IllegalClientArgument,
    MessageQueue,
)
from engine.client.allocation.allocate_message_queue_consistent_hash import place_on_ring
from engine.client.allocation.allocate_message_queue_strategy import AllocateMessageQueueStrategy


def room_of(name: str) -> str:
    return name.split("@", maxsplit=1)[0]


def nearby(strategy: AllocateMessageQueueStrategy) -> AllocateMachineRoomNearby:
    return AllocateMachineRoomNearby(strategy, lambda queue: room_of(queue.broker_name), room_of)


COMPLETE: list[AllocateMessageQueueStrategy] = [
    AllocateMessageQueueAveragely(),
    AllocateMessageQueueAveragelyByCircle(),
    AllocateMessageQueueConsistentHash(),
    AllocateMessageQueueByMachineRoom(["east", "west"]),
    nearby(AllocateMessageQueueAveragely()),
    nearby(AllocateMessageQueueConsistentHash()),
]

MEMBERS = st.lists(
    st.tuples(st.sampled_from(["east", "west"]), st.integers(0, 99)).map(lambda pair: f"{pair[0]}@{pair[1]}"),
    min_size=1,
    max_size=9,
    unique=True,
).map(sorted)
QUEUES = st.lists(
    st.builds(MessageQueue, st.just("T"), st.sampled_from(["east@a", "east@b", "west@a"]), st.integers(0, 9)),
    max_size=25,
    unique=True,
).map(sorted)


def divide(strategy, queues, members):
    return {member: strategy.allocate("g", member, queues, members) for member in members}


@pytest.mark.parametrize("strategy", COMPLETE, ids=lambda strategy: strategy.name)
@given(queues=QUEUES, members=MEMBERS)
def test_every_queue_has_exactly_one_owner(strategy, queues, members):
    owned = [queue for share in divide(strategy, queues, members).values() for queue in share]
    assert sorted(owned) == queues


@pytest.mark.parametrize("strategy", COMPLETE, ids=lambda strategy: strategy.name)
def test_a_member_that_the_broker_does_not_know_yet_gets_nothing(strategy):
    queues = [MessageQueue("T", "east@a", number) for number in range(4)]
    assert strategy.allocate("g", "east@9", queues, ["east@1", "west@2"]) == []


@pytest.mark.parametrize("strategy", COMPLETE[:2], ids=lambda strategy: strategy.name)
@given(queues=QUEUES, members=MEMBERS)
def test_average_shares_differ_by_at_most_one(strategy, queues, members):
    sizes = [len(share) for share in divide(strategy, queues, members).values()]
    assert max(sizes) - min(sizes) <= 1


def ids(strategy, queue_count: int, member_count: int) -> list[list[int]]:
    queues = [MessageQueue("T", "a", number) for number in range(queue_count)]
    members = [f"c{number}" for number in range(member_count)]
    return [[queue.queue_id for queue in share] for share in divide(strategy, queues, members).values()]


def test_averagely_gives_blocks_and_the_first_members_one_more():
    assert ids(AllocateMessageQueueAveragely(), 8, 3) == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert ids(AllocateMessageQueueAveragely(), 2, 3) == [[0], [1], []]


def test_by_circle_deals_the_queues_like_cards():
    assert ids(AllocateMessageQueueAveragelyByCircle(), 8, 3) == [[0, 3, 6], [1, 4, 7], [2, 5]]


@given(queues=QUEUES, members=MEMBERS.filter(lambda members: len(members) > 1), data=st.data())
def test_when_a_member_leaves_a_hash_ring_only_its_own_queues_move(queues, members, data):
    strategy = AllocateMessageQueueConsistentHash()
    leaver = data.draw(st.sampled_from(members))
    before = divide(strategy, queues, members)
    after = divide(strategy, queues, [member for member in members if member != leaver])
    for member, share in after.items():
        assert [queue for queue in share if queue not in before[leaver]] == before[member]


def test_places_on_the_ring_are_the_first_four_bytes_of_md5():
    # printf '' | md5sum begins with d41d8cd9; "abc" with 90015098.
    assert place_on_ring("") == 0xD41D8CD9
    assert place_on_ring("abc") == 0x90015098


def test_a_hash_ring_needs_a_place_for_each_member():
    with pytest.raises(IllegalClientArgument, match="at least 1, got 0"):
        AllocateMessageQueueConsistentHash(0)


def test_machine_room_leaves_queues_of_other_rooms_alone():
    queues = [MessageQueue("T", broker, number) for broker in ("east@a", "north@a", "plain") for number in range(3)]
    shares = divide(AllocateMessageQueueByMachineRoom(["east"]), queues, ["c0", "c1"])
    assert [[queue.queue_id for queue in share] for share in shares.values()] == [[0, 2], [1]]
    assert {queue.broker_name for share in shares.values() for queue in share} == {"east@a"}


def test_nearby_gives_queues_to_members_in_the_same_room_and_orphaned_rooms_to_all():
    queues = sorted(MessageQueue("T", room, number) for room in ("east@a", "north@a", "west@a") for number in range(2))
    shares = divide(nearby(AllocateMessageQueueAveragely()), queues, ["east@1", "west@1"])
    assert [str(queue) for queue in shares["east@1"]] == ["T@east@a:0", "T@east@a:1", "T@north@a:0"]
    assert [str(queue) for queue in shares["west@1"]] == ["T@west@a:0", "T@west@a:1", "T@north@a:1"]


def test_nearby_wants_a_room_for_everybody():
    strategy = AllocateMachineRoomNearby(AllocateMessageQueueAveragely(), lambda _: " ", room_of)
    with pytest.raises(IllegalClientArgument, match="machine room of 'a' is blank"):
        strategy.allocate("g", "east@1", [MessageQueue("T", "a", 0)], ["east@1"])


def test_config_gives_what_the_user_listed_as_far_as_it_exists():
    listed = [MessageQueue("T", "a", 1), MessageQueue("T", "a", 77), MessageQueue("Other", "a", 0)]
    queues = [MessageQueue("T", "a", number) for number in range(4)]
    assert AllocateMessageQueueByConfig(listed).allocate("g", "c", queues, ["x"]) == [MessageQueue("T", "a", 1)]
