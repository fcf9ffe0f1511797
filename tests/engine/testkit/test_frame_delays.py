"""Seeded delays of frames, and the smallest set of them that a failure needs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.message.message import Message
from engine.protocol.request_code import RequestCode
from engine.testkit.frame_delays import FRAMES, FrameDelay, delays_of, smallest_failing
from tests.support.live.kit_clients import send


def test_a_seed_always_means_the_same_delays_and_others_mean_others():
    assert delays_of(7) == delays_of(7)
    assert len({tuple(delays_of(seed)) for seed in range(50)}) > 45


def test_delays_are_of_frames_that_there_are_and_each_kind_is_delayed_by_some_seed():
    names = {delay.frame.removeprefix("reply to ") for seed in range(100) for delay in delays_of(seed)}
    assert names == {frame.removeprefix("reply to ") for frame in FRAMES}
    assert names <= {*RequestCode.__members__}


@given(st.integers(0, 1_000), st.data())
def test_what_is_left_fails_and_nothing_of_it_can_be_left_out(seed, data):
    delays = delays_of(seed)
    needed = data.draw(st.sets(st.sampled_from(delays))) if delays else set()

    def fails(some):
        return needed <= set(some)

    assert set(smallest_failing(delays, fails)) == needed


def test_frames_come_late_but_a_rule_of_the_test_goes_first(glassmq):
    glassmq.faults.disturb([FrameDelay("SEND_MESSAGE_V2", ms=5, ratio=1.0, seed=1)])
    with glassmq.faults.duplicate("SEND_MESSAGE_V2", times=1) as doubled:
        send(glassmq, Message("orders", b"1"), Message("orders", b"2"))
        assert doubled.hits == 1
    (delay,) = glassmq.at_gate(lambda injector: injector.rules)
    assert delay.hits == 1
    assert sorted(message.body for message in glassmq.wait_for("orders", 3)) == [b"1", b"1", b"2"]
