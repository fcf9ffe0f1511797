"""ProcessQueue: two trees, their counters, and what may be committed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.client.queues.process_queue import ProcessQueue
from engine.client.queues.queue_hold import HOLD_TRANSITIONS, HoldEvent, QueueHold
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTY_CONSUME_START_TIME


class HandClock:
    """Time that the test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def now_ms(self) -> int:
        return self.now


def message(offset: int, body: bytes = b"1234", properties: dict[str, str] | None = None) -> MessageExt:
    return MessageExt(
        topic="T",
        body=body,
        properties=properties or {},
        queue_id=0,
        queue_offset=offset,
        commit_log_offset=offset * 100,
        born_timestamp=0,
        born_host="10.0.0.1:1",
        store_timestamp=0,
        store_host="10.0.0.2:10911",
    )


def filled(*offsets: int) -> tuple[ProcessQueue, list[MessageExt]]:
    queue = ProcessQueue(HandClock().now_ms)
    messages = [message(offset) for offset in offsets]
    queue.put_messages(messages)
    return queue, messages


# --- concurrent consumption -------------------------------------------------------------------------------------------


def test_the_offset_to_commit_never_passes_a_waiting_message():
    queue, messages = filled(5, 6, 7)
    assert queue.remove_messages([messages[2]]) == 5
    assert queue.remove_messages([messages[0]]) == 6
    assert queue.remove_messages([messages[1]]) == 8


def test_nothing_can_be_committed_when_nothing_waits():
    queue, messages = filled(5)
    assert queue.remove_messages(messages) == 6
    assert queue.remove_messages(messages) == -1


def test_a_message_put_twice_counts_once():
    queue, _ = filled(5, 6)
    queue.put_messages([message(6), message(7)])
    assert (queue.msg_count, queue.msg_size) == (3, 12)


@given(st.sets(st.integers(0, 200), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_whatever_the_order_of_finishing_the_progress_only_grows_and_ends_after_the_last(offsets, random):
    queue, messages = filled(*sorted(offsets))
    random.shuffle(messages)
    progress = [queue.remove_messages([done]) for done in messages]
    assert progress == sorted(progress)
    assert progress[-1] == max(offsets) + 1
    assert (queue.msg_count, queue.msg_size) == (0, 0)


def test_the_span_is_the_distance_between_the_outermost_waiting_offsets():
    queue, messages = filled(3, 90, 2003)
    assert queue.max_span == 2000
    queue.remove_messages(messages)
    assert queue.max_span == 0


def test_only_the_first_message_can_expire_and_only_after_its_listener_had_it_too_long():
    clock = HandClock()
    queue = ProcessQueue(clock.now_ms)
    first, second = message(1, properties={PROPERTY_CONSUME_START_TIME: "0"}), message(2)
    second.consume_started_ms = 0
    queue.put_messages([first, second])
    assert queue.first_expired_message(1_000) is None, "not given to a listener yet, whatever its sender says"
    first.consume_started_ms = clock.now
    clock.now += 1_000
    assert queue.first_expired_message(1_000) is None
    clock.now += 1
    assert queue.first_expired_message(1_000) is first
    assert queue.remove_if_first(second) == -1
    assert queue.remove_if_first(first) == 2


# --- orderly consumption ----------------------------------------------------------------------------------------------


def test_taken_messages_come_in_order_of_their_offsets_and_move_to_the_consuming_tree():
    queue, _ = filled(8, 4, 6)
    assert [taken.queue_offset for taken in queue.take_messages(2)] == [4, 6]
    assert list(queue.msg_tree_map) == [8]
    assert list(queue.consuming_msg_orderly_tree_map) == [4, 6]
    assert queue.msg_count == 3


def test_a_commit_forgets_what_was_taken_and_says_where_to_go_on():
    queue, _ = filled(4, 6, 8)
    queue.take_messages(2)
    assert queue.commit() == 7
    assert (queue.msg_count, queue.msg_size) == (1, 4)
    assert len(queue.consuming_msg_orderly_tree_map) == 0


def test_a_commit_with_nothing_in_hand_says_so():
    queue, _ = filled(4)
    assert queue.commit() == -1
    assert queue.msg_count == 1


def test_a_rollback_puts_everything_in_hand_back():
    queue, messages = filled(4, 6, 8)
    queue.take_messages(2)
    queue.rollback()
    assert list(queue.msg_tree_map.values()) == messages
    assert len(queue.consuming_msg_orderly_tree_map) == 0
    assert queue.msg_count == 3


def test_failed_messages_wait_again_and_the_others_stay_in_hand():
    queue, messages = filled(4, 6, 8)
    queue.take_messages(3)
    queue.make_message_to_consume_again(messages[1:2])
    assert list(queue.msg_tree_map) == [6]
    assert list(queue.consuming_msg_orderly_tree_map) == [4, 8]


def test_one_consume_chain_per_queue_until_it_finds_nothing_to_take():
    queue = ProcessQueue(HandClock().now_ms)
    assert queue.put_messages([message(1)]) is True
    assert queue.put_messages([message(2)]) is False, "the chain that was started takes this one too"
    assert len(queue.take_messages(10)) == 2
    assert queue.consuming
    assert queue.take_messages(10) == []
    assert not queue.consuming
    assert queue.put_messages([message(3)]) is True


class OrderlyConsumption(RuleBasedStateMachine):
    """Whatever an orderly consumer does, no message is lost and the counters tell the truth."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = ProcessQueue(HandClock().now_ms)
        self.next_offset = 0
        self.waiting: list[int] = []
        self.in_hand: list[int] = []

    @rule(count=st.integers(1, 5))
    def put(self, count: int) -> None:
        offsets = range(self.next_offset, self.next_offset + count)
        self.queue.put_messages([message(offset) for offset in offsets])
        self.next_offset += count
        self.waiting += offsets

    @rule(batch=st.integers(1, 4))
    def take(self, batch: int) -> None:
        expected = self.waiting[:batch]
        assert [taken.queue_offset for taken in self.queue.take_messages(batch)] == expected
        self.waiting = self.waiting[batch:]
        self.in_hand = sorted(self.in_hand + expected)

    @rule()
    def commit(self) -> None:
        assert self.queue.commit() == (self.in_hand[-1] + 1 if self.in_hand else -1)
        self.in_hand = []

    @rule()
    def rollback(self) -> None:
        self.queue.rollback()
        self.waiting, self.in_hand = sorted(self.waiting + self.in_hand), []

    @precondition(lambda self: self.in_hand)
    @rule(data=st.data())
    def consume_again(self, data: st.DataObject) -> None:
        offset = data.draw(st.sampled_from(self.in_hand))
        failed = self.queue.consuming_msg_orderly_tree_map.get(offset)
        assert failed is not None
        self.queue.make_message_to_consume_again([failed])
        self.in_hand.remove(offset)
        self.waiting = sorted([*self.waiting, offset])

    @invariant()
    def nothing_is_lost(self) -> None:
        assert list(self.queue.msg_tree_map) == self.waiting
        assert list(self.queue.consuming_msg_orderly_tree_map) == self.in_hand
        assert self.queue.msg_count == len(self.waiting) + len(self.in_hand)
        assert self.queue.msg_size == 4 * self.queue.msg_count


TestOrderlyConsumption = OrderlyConsumption.TestCase


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_lock_expires_after_its_lease_unless_it_is_renewed():
    clock = HandClock()
    queue = ProcessQueue(clock.now_ms)
    queue.hold_lock()
    clock.now += 30_000
    assert queue.locked and not queue.is_lock_expired
    clock.now += 1
    assert queue.is_lock_expired
    queue.hold_lock()
    assert not queue.is_lock_expired


def test_a_queue_that_is_not_pulled_for_two_minutes_is_expired():
    clock = HandClock()
    queue = ProcessQueue(clock.now_ms)
    clock.now += 120_000
    assert not queue.is_pull_expired
    clock.now += 1
    assert queue.is_pull_expired


def test_clearing_forgets_both_trees():
    queue, _ = filled(1, 2, 3)
    queue.take_messages(1)
    queue.clear()
    assert (queue.msg_count, queue.msg_size, queue.has_waiting_messages) == (0, 0, False)
    assert len(queue.consuming_msg_orderly_tree_map) == 0


@given(st.lists(st.sampled_from(HoldEvent)))
def test_a_queue_that_was_given_up_never_comes_back_whatever_the_broker_answers(events):
    hold, given_up, has_lock = QueueHold.UNLOCKED, False, False
    for event in events:
        hold = HOLD_TRANSITIONS[hold, event]
        given_up = given_up or event is HoldEvent.GIVEN_UP
        has_lock = has_lock if event is HoldEvent.GIVEN_UP else event is HoldEvent.GRANTED
        assert (hold.is_dropped, hold.is_locked) == (given_up, has_lock)


@given(st.lists(st.sampled_from(HoldEvent)))
def test_a_queue_says_of_itself_what_its_hold_says_and_looks_nothing_up_for_it(events):
    queue, _ = filled()
    moves = {HoldEvent.GRANTED: queue.hold_lock, HoldEvent.LOST: queue.lose_lock, HoldEvent.GIVEN_UP: queue.drop}
    for event in events:
        moves[event]()
        assert (queue.dropped, queue.locked) == (queue.hold.is_dropped, queue.hold.is_locked)
    # Asked several times per message: plain attributes, ten times as fast as what works it out.
    assert {"dropped", "locked"} <= set(ProcessQueue.__slots__)
