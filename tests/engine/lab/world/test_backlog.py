"""Samples of backlogs: what is counted, and that a long story stays in bounds."""

from __future__ import annotations

from app.lab.views.backlog_view import BacklogView
from engine.lab.run.run import LabRun
from engine.lab.world.backlog import SAMPLES_MAX, BacklogWatch, GroupBacklog
from tests.support.lab.checked_run import checked_run, do, run_to


def watched(run: LabRun) -> BacklogWatch:
    watch = BacklogWatch(run.world)
    run.on_event.append(watch.after_event)
    return watch


def test_the_backlog_is_what_brokers_have_stored_and_the_group_has_not_reported():
    with checked_run() as run:
        watch = watched(run)
        do(run, "listener", "C1", result="hangs")
        do(run, "listener", "C2", result="hangs")
        run_to(run, 8_000)
        (sample,) = watch.groups["shop"].samples[-1:]
        assert (sample.stored, sample.done, sample.lag, sum(sample.lags)) == (40, 0, 40, 40)
        assert (sample.members, sample.owners) == (2, 2)
        queues = [(topic, queue_id) for _, topic, queue_id in watch.groups["shop"].queues]
        assert [queue for queue in queues if queue[0] == "Orders"] == [("Orders", number) for number in range(4)]


def test_retries_that_wait_in_the_retry_topic_are_behind_too():
    with checked_run() as run:
        watch = watched(run)
        run_to(run, 60_000)
        last = watch.groups["shop"].samples[-1]
        assert last.stored == 42, "forty orders, and two redeliveries of order-7"
        assert last.lag == 0


def test_a_broker_that_is_down_is_taken_for_what_it_said_last():
    with checked_run() as run:
        watch = watched(run)
        run_to(run, 3_000)
        do(run, "crash", "B1")
        before = watch.groups["shop"].samples[-1]
        run_to(run, 6_000)
        assert watch.groups["shop"].samples[-1][1:3] == before[1:3]
        do(run, "restart", "B1")
        run_to(run, 20_000)
        assert min(sample.stored for sample in watch.groups["shop"].samples[10:]) >= 5, (
            "no dip while it reads its files"
        )


def test_an_offset_behind_what_a_crash_has_left_is_no_negative_backlog():
    group = GroupBacklog("g")
    group.note(("B1", "T", 0), 5, 8)
    group.note(("B1", "T", 1), 5, 1)
    group.sample(0, 1, 1)
    (sample,) = group.samples
    assert (sample.lag, sample.lags) == (4, (0, 4))


def test_a_member_that_hangs_for_a_while_is_a_member():
    with checked_run() as run:
        watch = watched(run)
        run_to(run, 3_000)
        do(run, "pause-node", "C2")
        run_to(run, 5_000)
        assert watch.groups["shop"].samples[-1].members == 2
        do(run, "kill-consumer", "C2")
        run_to(run, 6_000)
        assert watch.groups["shop"].samples[-1].members == 1


def test_only_changes_are_kept():
    with checked_run(duration_ms=600_000) as run:
        watch = watched(run)
        run_to(run, 100_000)
        count = len(watch.groups["shop"].samples)
        run_to(run, 600_000)
        assert len(watch.groups["shop"].samples) == count


def test_a_long_story_keeps_its_beginning_and_its_end():
    group = GroupBacklog("g")
    for number in range(10):
        group.note(("B1", "T", 0), number, 0)
        group.sample(number, 1, 1)
    group.thin()
    assert [sample.time_us for sample in group.samples] == [0, 2, 4, 6, 8, 9]


def test_the_view_keeps_the_peak_that_thinning_takes_away():
    with checked_run() as run:
        view = BacklogView(run)
        assert view.build() is None, "nothing was seen yet"
        run_to(run, 1_000)
        group = view._watch.groups["shop"]
        for number in range(3 * SAMPLES_MAX):
            group.note(("B1", "T", 9), 5_000 if number == 701 else 1_000 + number % 2, 0)
            group.sample(2_000_000 + number, 2, 2)
            if len(group.samples) > SAMPLES_MAX:
                view.build()
                group.thin()
        built = view.build()
        assert built is not None
        shop = built["groups"]["shop"]
        assert shop["peak"] >= 5_000
        assert shop["peak_us"] == 2_000_701
        assert len(shop["series"]) <= SAMPLES_MAX + 1
        assert view.build() is built, "the same as long as nothing was sampled"
