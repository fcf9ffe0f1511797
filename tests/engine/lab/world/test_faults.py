"""What every command does to a world."""

from __future__ import annotations

import dataclasses

import pytest

from engine.lab.run.recording import parse_export
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import CommandRefused
from engine.lab.world.faults import NoSuchTarget, WrongNodeState
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS
from tests.support.lab.lab_scenarios import SECOND_CONSUMER, apply, run_to_ms, successes

ALL_KEYS = sorted(f"k-{number}" for number in range(20))


# ------------------------------------------------------------------------------------------------------ processes


def test_a_crash_ends_the_process_and_a_restart_brings_a_new_one_with_its_files(started):
    run = started()
    role = run.world.nodes["B1"]
    size = role.broker.store.commit_log.max_offset
    assert size > 0
    apply(run, "crash", "B1")
    assert (role.status, role.broker) == ("crashed", None)
    with pytest.raises(WrongNodeState, match="B1 is crashed: only a node that is running or paused can crash"):
        apply(run, "crash", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, 1_050)
    assert (role.status, role.incarnation) == ("running", 1)
    assert role.broker.store.commit_log.max_offset >= size
    with pytest.raises(WrongNodeState, match="B1 is running"):
        apply(run, "restart", "B1")


def test_a_power_cut_loses_what_was_not_flushed(started):
    run = started(to_ms=900)
    role = run.world.nodes["B1"]
    written = role.broker.store.commit_log.max_offset
    flushed = role.broker.store.commit_log.flushed_offset
    assert flushed < written
    apply(run, "crash-power", "B1")
    apply(run, "restart", "B1")
    run.run_events(1)
    assert role.broker.store.commit_log.max_offset == flushed


def test_a_torn_write_is_a_power_cut_that_may_leave_parts(started):
    run = started(to_ms=900)
    apply(run, "torn-write", "B1")
    assert run.world.nodes["B1"].status == "crashed"
    apply(run, "restart", "B1")
    run_to_ms(run, 30_000)
    assert run.world.nodes["B1"].status == "running"
    with pytest.raises(NoSuchTarget, match="torn-write applies to brokers only"):
        apply(run, "torn-write", "P1")


def test_a_paused_node_does_nothing_until_it_is_resumed(started):
    run = started()
    producer = run.world.producers()[0]
    apply(run, "pause-node", "P1")
    sent = producer.sender.sent
    assert producer.status == "paused"
    run_to_ms(run, 2_000)
    assert producer.sender.sent == sent
    with pytest.raises(WrongNodeState, match="P1 is paused"):
        apply(run, "pause-node", "P1")
    apply(run, "resume-node", "P1")
    run_to_ms(run, 3_000)
    assert producer.sender.sent > sent
    with pytest.raises(WrongNodeState):
        apply(run, "resume-node", "P1")


def test_a_skewed_clock_belongs_to_the_machine(started):
    run = started()
    apply(run, "clock-skew", "B1", ms=-5_000)
    assert run.world.nodes["B1"].runtime.clock.now_ms() == WORLD_BEGIN_MS + 1_000 - 5_000
    apply(run, "crash", "B1")
    apply(run, "restart", "B1")
    assert run.world.nodes["B1"].runtime.clock.skew_ms == -5_000


def test_a_process_that_cannot_start_says_why(started):
    run = started()
    apply(run, "crash", "B1")
    apply(run, "disk-full", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, 1_500)
    role = run.world.nodes["B1"]
    if role.status == "crashed":
        assert "disk is full" in role.failure
    apply(run, "disk-free", "B1")
    if role.status == "crashed":
        apply(run, "restart", "B1")
    run_to_ms(run, 2_000)
    assert (role.status, role.failure) == ("running", "")


def test_dropped_caches_leave_only_what_is_dirty_and_memory_without_end_cannot_be_dropped(started):
    run = started(("role: broker\n", "role: broker\n    disk: {cache_pages: 64}\n"))
    cache = run.world.disk_of("B1").page_cache
    assert len(cache) > len(cache.dirty)
    apply(run, "drop-caches", "B1")
    assert len(cache) == len(cache.dirty)
    with pytest.raises(CommandRefused, match=r"B1 has unlimited memory.*cache_pages"):
        apply(started(), "drop-caches", "B1")


# ------------------------------------------------------------------------------------------------------- consumers


def test_a_killed_consumer_is_replaced_by_the_other_member(started):
    run = started(SECOND_CONSUMER)
    apply(run, "kill-consumer", "C1")
    run_to_ms(run, 30_000)
    assert sorted(set(successes(run))) == ALL_KEYS
    assert len(run.world.nodes["C2"].consumer.process_queues) >= 4
    with pytest.raises(NoSuchTarget, match="applies to consumers only, but B1 is a broker"):
        apply(run, "kill-consumer", "B1")


def test_a_stopped_consumer_leaves_in_order_and_can_be_started_again(started):
    run = started(to_ms=1_500)
    role = run.world.nodes["C1"]
    apply(run, "stop-consumer", "C1")
    run_to_ms(run, 1_700)
    assert (role.status, role.consumer) == ("off", None)
    assert run.world.brokers()[0].broker.consumer_manager.get_consumer_group_info("g") is None
    done = len(successes(run))
    with pytest.raises(WrongNodeState, match="C1 is off"):
        apply(run, "stop-consumer", "C1")
    apply(run, "start-consumer", "C1")
    run_to_ms(run, 30_000)
    assert role.status == "running"
    # Its progress was stored when it left: nothing comes twice.
    assert sorted(successes(run)) == ALL_KEYS
    assert len(successes(run)) > done


def test_an_added_consumer_takes_a_share_of_the_queues(started):
    run = started()
    apply(run, "add-consumer", "C2", like="C1")
    run_to_ms(run, 1_500)
    owned = {name: run.world.nodes[name].consumer.process_queues for name in ("C1", "C2")}
    assert [sum(queue.topic == "T" for queue in queues) for queues in owned.values()] == [2, 2]
    with pytest.raises(CommandRefused, match="a node named C2 already exists"):
        apply(run, "add-consumer", "C2", like="C1")
    with pytest.raises(CommandRefused, match="not a valid node name"):
        apply(run, "add-consumer", "C 3", like="C1")


def test_a_listener_changes_its_behaviour(started):
    run = started()
    apply(run, "listener", "C1", result="throws", duration_ms=7)
    run_to_ms(run, 1_300)
    last = run.world.history.consumes_ended[-1]
    assert last.result == "throws"
    began = next(call for call in run.world.history.consumes_began if call[2:10] == last[2:10])
    assert last.time_us - began.time_us == 7_000


def test_a_hanging_listener_holds_its_threads(started):
    run = started()
    apply(run, "listener", "C1", result="hangs")
    run_to_ms(run, 5_000)
    assert len(run.world.nodes["C1"].listener_calls) == 2
    assert run.world.history.consumes_ended[-1].time_us < 1_100_000


# ----------------------------------------------------------------------------------------------------------- links


def sends(run: LabRun) -> list[str]:
    return [send.status for send in run.world.history.sends_returned]


def test_a_partition_lets_nothing_through_until_it_is_healed(started):
    run = started()
    apply(run, "partition", left=["P1"], right=["B1", "N1"])
    acknowledged = run.world.producers()[0].sender.acknowledged
    run_to_ms(run, 8_000)
    assert run.world.producers()[0].sender.acknowledged == acknowledged
    assert "unknown" in sends(run)
    apply(run, "heal")
    run_to_ms(run, 30_000)
    assert run.world.producers()[0].sender.acknowledged > acknowledged
    with pytest.raises(CommandRefused, match="both sides"):
        apply(run, "partition", left=["P1"], right=["P1"])
    with pytest.raises(NoSuchTarget, match="'X'"):
        apply(run, "partition", left=["P1"], right=["X"])


def test_one_link_of_a_partition_is_mended_and_the_others_stay_cut(started):
    run = started()
    apply(run, "partition", left=["P1", "C1"], right=["B1"])
    apply(run, "link-loss", "P1<->B1", ratio=1)
    apply(run, "heal-link", "P1<->B1")
    (partition,) = run.world.link_faults.partitions
    assert partition.links() == [("C1", "B1"), ("B1", "C1")]
    acknowledged, consumed = run.world.producers()[0].sender.acknowledged, len(run.world.history.consumes_began)
    run_to_ms(run, 30_000)
    assert run.world.producers()[0].sender.acknowledged > acknowledged
    assert len(run.world.history.consumes_began) == consumed
    apply(run, "heal-link", "C1<->B1")
    assert run.world.link_faults.partitions == []


def test_a_one_way_partition_stores_messages_whose_sender_never_hears_of_it(started):
    run = started()
    before = run.world.brokers()[0].broker.store.commit_log.max_offset
    apply(run, "partition", left=["B1"], right=["P1"], one_way=True)
    run_to_ms(run, 5_000)
    assert run.world.brokers()[0].broker.store.commit_log.max_offset > before
    assert sends(run)[-1] == "unknown"


def test_a_slow_link_is_slow_in_the_direction_that_was_named(started):
    run = started()

    def last_round_trip_us() -> int:
        begun = {send.key: send.time_us for send in run.world.history.sends_invoked}
        ended = run.world.history.sends_returned[-1]
        return ended.time_us - begun[ended.key]

    assert last_round_trip_us() <= 6_000
    apply(run, "link-delay", "P1->B1", ms=50)
    run_to_ms(run, 1_500)
    assert 54_000 <= last_round_trip_us() <= 56_000
    apply(run, "link-delay", "P1<->B1", ms=50)
    run_to_ms(run, 2_000)
    assert 104_000 <= last_round_trip_us() <= 106_000
    apply(run, "link-delay", "P1<->B1", ms=0)
    run_to_ms(run, 2_500)
    assert last_round_trip_us() <= 6_000
    with pytest.raises(NoSuchTarget, match="write P1->B1"):
        apply(run, "link-delay", "P1-B1", ms=1)


def test_a_lossy_link_loses_its_share_of_the_frames(started):
    run = started()
    apply(run, "link-loss", "B1->P1", ratio=1.0)
    run_to_ms(run, 30_000)
    assert set(sends(run)[6:]) == {"unknown"}


def test_a_doubling_link_makes_duplicates(started):
    run = started()
    apply(run, "link-duplicate", "P1->B1", ratio=1.0)
    run_to_ms(run, 30_000)
    consumed = successes(run)
    assert sorted(set(consumed)) == ALL_KEYS
    assert len(consumed) > len(ALL_KEYS) + 5


def test_a_shuffling_link_lets_frames_overtake_each_other(started):
    run = started(("every_ms: 100", "every_ms: 0"), ("count: 20", "count: 200"), to_ms=700)
    apply(run, "link-reorder", "B1->C1", ratio=0.5)
    seen: list[str] = []
    run.world.lab.network.parcel_watchers.append(
        lambda parcel, delays: seen.append(f"{parcel.source}->{parcel.target} {delays}") if delays else None
    )
    run_to_ms(run, 1_500)
    delays = [int(line.split("(")[1].split(",")[0]) for line in seen if line.startswith("B1->C1")]
    assert max(delays) >= 20_000 > 5_000 > min(delays)


def test_the_next_frame_of_a_kind_is_dropped_and_only_that(started):
    run = started(("start_ms: 500", "start_ms: 1500"))
    apply(run, "drop-next", "P1->B1", frame="SEND_MESSAGE_V2")
    run_to_ms(run, 30_000)
    # The synchronous send notices after 3 s of silence that it may or may not be stored.
    assert sends(run) == ["unknown"] + ["ok"] * 19
    assert run.world.link_faults.next_frames == []


def test_the_reply_to_a_request_of_a_kind_is_dropped(started):
    run = started(("start_ms: 500", "start_ms: 1500"))
    apply(run, "drop-next", "B1->P1", frame="reply to SEND_MESSAGE_V2")
    run_to_ms(run, 30_000)
    assert sends(run)[0] == "unknown"
    # In truth it was stored.
    assert "k-0" in successes(run)


def test_the_next_frame_is_delayed(started):
    run = started(("start_ms: 500", "start_ms: 1500"))
    apply(run, "delay-next", "P1->B1", frame="SEND_MESSAGE_V2", ms=400)
    run_to_ms(run, 5_000)
    first_begin = run.world.history.sends_invoked[0].time_us
    assert run.world.history.sends_returned[0].time_us - first_begin >= 400_000


def test_the_next_frame_is_doubled(started):
    run = started(("start_ms: 500", "start_ms: 1500"))
    apply(run, "duplicate-next", "P1->B1", frame="SEND_MESSAGE_V2")
    run_to_ms(run, 30_000)
    assert sorted(successes(run)) == sorted([*ALL_KEYS, "k-0"])
    with pytest.raises(CommandRefused, match="write P1->B1, not P1<->B1"):
        apply(run, "duplicate-next", "P1<->B1", frame="")


def test_a_world_waits_for_a_bounded_number_of_frames(started):
    run = started()
    for _ in range(100):
        apply(run, "drop-next", "", frame="END_TRANSACTION")
    with pytest.raises(CommandRefused, match="at most 100 are allowed"):
        apply(run, "drop-next", "", frame="END_TRANSACTION")
    apply(run, "heal")
    apply(run, "drop-next", "", frame="END_TRANSACTION")


# ----------------------------------------------------------------------------------------------- disks and actors


def test_a_slow_disk_makes_synchronous_sends_slow(started):
    run = started(("role: broker\n", "role: broker\n    flush: sync\n    disk: {fsync_ms: 5}\n"))
    apply(run, "slow-fsync", "B1", ms=6_000)
    run_to_ms(run, 12_000)
    details = [send.detail for send in run.world.history.sends_returned]
    assert details[0] == "SEND_OK"
    assert "unknown" in sends(run) or "FLUSH_DISK_TIMEOUT" in details


def test_a_full_disk_refuses_messages_until_there_is_room(started):
    # The broker looks every 10 s whether there is room again.
    run = started(("body {n}", "x" * 3_900), ("count: 20, every_ms: 100", "count: 60, every_ms: 300"))
    apply(run, "disk-full", "B1")
    run_to_ms(run, 2_000)
    assert "refused" in sends(run)
    apply(run, "disk-free", "B1")
    run_to_ms(run, 30_000)
    assert sends(run)[-1] == "ok"


def test_a_held_task_waits_while_the_rest_goes_on(started):
    run = started()
    sent = run.world.producers()[0].sender.sent
    apply(run, "hold", "P1/sends T", ms=1_000)
    run_to_ms(run, 1_900)
    assert run.world.producers()[0].sender.sent == sent
    apply(run, "release", "P1/sends T")
    run_to_ms(run, 2_050)
    assert run.world.producers()[0].sender.sent > sent
    with pytest.raises(NoSuchTarget, match="there is no task or link named 'P1/nothing'"):
        apply(run, "hold", "P1/nothing", ms=1)


def _under_way(run, actor, label):
    """Return when the next timer of ``actor`` with that label is due; None without one."""
    timers = run.world.loop.schedule.next_timers(1_000)
    return next((event.due_us for event in timers if event.actor.name == actor and event.label == label), None)


def test_a_timer_that_is_fired_by_hand_does_its_work_now_and_not_again_at_its_time(started):
    run = started(to_ms=1_050)
    sent = run.world.producers()[0].sender.sent
    due_us = _under_way(run, "P1/sends T", "timer")
    assert due_us > run.world.now_us
    apply(run, "fire-timer", "P1/sends T", due_us=due_us)
    now_us = run.world.now_us
    while run.world.producers()[0].sender.sent == sent:
        run.run_events(1)
    assert run.world.now_us == now_us
    with pytest.raises(NoSuchTarget, match=f"P1/sends T has no timer with index 0 that fires at {due_us}"):
        apply(run, "fire-timer", "P1/sends T", due_us=due_us)


def test_a_frame_that_is_dropped_under_way_does_not_arrive(started):
    run = started()
    while (due_us := _under_way(run, "P1->B1", "frame arrives")) is None:
        run.run_events(1)
    lost = []
    run.world.lab.network.cut_watchers.append(lost.append)
    with pytest.raises(NoSuchTarget, match="no frame with index 0 is in transit on B1->P1"):
        apply(run, "drop-frame", "B1->P1", due_us=due_us)
    with pytest.raises(CommandRefused, match="write P1->B1"):
        apply(run, "drop-frame", "P1<->B1", due_us=due_us)
    (end,) = [end for end in run.world.lab.network._hosts["P1"].connections if end.peer.node.name == "B1"]
    unsent = end.unsent_bytes
    apply(run, "drop-frame", "P1->B1", due_us=due_us)
    (parcel,) = lost
    assert (parcel.source, parcel.target) == ("P1", "B1")
    assert _under_way(run, "P1->B1", "frame arrives") != due_us
    # What the link counted as unsent is given back: nothing of the frame clogs it.
    assert end.unsent_bytes == unsent - len(parcel.data)


def test_of_two_frames_that_arrive_at_the_same_microsecond_the_one_that_is_meant_is_dropped(started):
    """Which one is the index, in the order of sending; what knows no index means the first."""

    def arrivals(run):
        due = [event for event in run.world.lab.loop.schedule.next_timers(1_000) if event.label == "frame arrives"]
        same = [event for event in due if (event.actor.name, event.due_us) == ("C1->B1", due[0].due_us)]
        return [event.arguments[0] for event in same]

    def lost(**fields):
        run, parcels = started(to_ms=0), []
        while len(arrivals(run)) < 2:
            run.run_events(1)
        both, due_us = arrivals(run), run.world.lab.loop.schedule.next_timers(1)[0].due_us
        run.world.lab.network.cut_watchers.append(parcels.append)
        apply(run, "drop-frame", "C1->B1", due_us=due_us, **fields)
        assert len(arrivals(run)) == len(both) - 1
        again = LabRun.replay(parse_export(run.export()))
        assert again.is_faithful
        again.close()
        return [both.index(parcel.data) for parcel in parcels]

    assert [lost(), lost(index=0), lost(index=1)] == [[0], [0], [1]]
    with pytest.raises(NoSuchTarget, match="with index 9"):
        lost(index=9)


def test_of_two_timers_of_a_task_due_at_the_same_microsecond_the_one_that_is_meant_fires(started):
    run, fired = started(to_ms=1_050), []
    schedule = run.world.loop.schedule
    first = next(event for event in schedule.next_timers(100) if event.actor.name == "P1/sends T")
    for name in ("second", "third"):
        schedule.add_timer(dataclasses.replace(first, callback=fired.append, arguments=(name,)))
    with pytest.raises(NoSuchTarget, match="with index 3"):
        apply(run, "fire-timer", "P1/sends T", due_us=first.due_us, index=3)
    apply(run, "fire-timer", "P1/sends T", due_us=first.due_us, index=2)
    while not fired:
        run.run_events(1)
    assert fired == ["third"]
    assert run.world.now_us < first.due_us


def test_the_number_of_queues_is_changed_on_every_broker(started):
    run = started(("  B1:\n", "  B2: {role: broker}\n  B1:\n"))
    apply(run, "queue-count", "T", n=6)
    run_to_ms(run, 1_010)
    for role in run.world.brokers():
        assert role.broker.topic_config_manager.topic_config_table["T"].write_queue_nums == 6
