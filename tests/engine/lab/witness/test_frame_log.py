"""The frames of a world are noted once, in bounded room, and named as they were when they were sent."""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.witness.frame_log import SentParcel
from engine.runtime.lab.lab_link_fault import ParcelKind


def remembered(run: LabRun) -> list[SentParcel]:
    return [*run.world.witness.frames.after(0)]


def test_the_newest_parcels_are_remembered_as_far_as_there_is_room(started):
    run = started(to_ms=0)
    sent = []
    run.world.watch_parcels(lambda parcel, delays_us: sent.append(parcel.data))
    log = run.world.witness.frames
    log.remember(parcels=40, size_bytes=1_000_000)
    run.run_to_time(1_500_000)
    assert [one.data for one in remembered(run)] == sent[-40:]
    log.remember(parcels=40, size_bytes=2_000)
    run.run_to_time(3_000_000)
    kept = remembered(run)
    assert [one.data for one in kept] == sent[-len(kept) :]
    assert sum(len(one.data) for one in kept) <= 2_000 < sum(map(len, sent[-len(kept) - 1 :]))
    log.remember(parcels=40, size_bytes=0)
    assert remembered(run) == [log.newest], "a watcher of parcels needs it, however large it is"


def test_each_parcel_is_found_by_its_number_while_it_is_remembered(started):
    run = started(to_ms=0)
    log = run.world.witness.frames
    log.remember(parcels=30, size_bytes=1_000_000)
    run.run_to_time(2_000_000)
    assert log.count > 60
    for number in range(log.count + 3):
        found = log.parcel(number)
        assert (found is not None) is (log.count - 30 < number <= log.count)
        assert found is None or found.number == number
        assert [one.number for one in log.after(number)] == [*range(max(number, log.count - 30) + 1, log.count + 1)]
    assert log.oldest == log.parcel(log.count - 29)


@pytest.mark.parametrize(
    "name", ["general", "xa-two-phase", "order-and-stock", "acks-compared", "sync-master", "two-logs"]
)
def test_a_frame_keeps_the_name_that_it_had_when_it_was_sent(name):
    with LabRun(load_scenario(name), check=False) as run:
        log = run.world.witness.frames
        names = []
        # Before the link decides, as a fault that waits for a frame sees it.
        run.world.lab.network.faults.insert(0, Named(lambda parcel: names.append(log.name_of_next(parcel))))
        run.run_events(2_500)
        frames = [one for one in remembered(run) if one.is_frame]
        assert [log.name_of(one) for one in frames] == names[-len(frames) :]
        assert any(one.startswith("reply to ") for one in names)


class Named:
    """A link fault that only reports the frames."""

    def __init__(self, report):
        self._report = report

    def extra_delays_us(self, parcel):
        if parcel.kind is ParcelKind.FRAME:
            self._report(parcel)


@pytest.mark.parametrize("name", ["general", "xa-two-phase", "acks-compared", "majority-log"])
def test_a_reply_finds_its_request_as_a_search_through_every_frame_does(name):
    with LabRun(load_scenario(name), check=False) as run:
        log = run.world.witness.frames
        run.run_events(1_500)
        frames = [one for one in remembered(run) if one.is_frame]
        replies = 0
        for place, reply in enumerate(frames):
            said = log.reading(reply)
            if said is None or said.name:
                assert log.request_of(reply) is None
                continue
            replies += 1
            asked = [
                one
                for one in frames[:place]
                if (one.source, one.target) == (reply.target, reply.source)
                and (request := log.reading(one)) is not None
                and request.name
                and request.number == said.number
            ]
            assert log.request_of(reply) == (asked[-1] if asked else None)
        assert replies


def test_a_search_finds_frames_by_the_events_that_sent_them(started):
    run = started(to_ms=2_000)
    frames = [one for one in remembered(run) if one.is_frame]
    first, last = frames[10].event, frames[-10].event
    log = run.world.witness.frames
    assert [*log.frames(first, last)] == [one for one in frames if first <= one.event <= last]
    assert [*log.newest_frames(7)] == frames[: -7 - 1 : -1]
    assert log.frame_count == len(frames)
