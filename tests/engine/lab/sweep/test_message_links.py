"""The links that random faults of a scenario with work break are those where its messages and its work travel."""

from __future__ import annotations

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.duplicates import WAYS, with_way
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.message_links import message_links

SCENARIO = load_scenario("order-and-stock")


def test_each_frame_that_a_fault_may_meet_is_sent_while_faults_last():
    sent: set[tuple[str, str, str]] = set()
    for way in ("message-table", "state-table"):
        with LabRun(with_way(SCENARIO, WAYS[way])) as run:
            frames = run.world.witness.frames
            watch = lambda parcel, _: sent.add((parcel.source, parcel.target, frames.name_of(frames.newest)))  # noqa: B023, E731
            run.world.lab.network.parcel_watchers.append(watch)
            run.run_to_time(18_000_000)
    links = message_links(SCENARIO)
    assert {(source, target, frame) for source, target, frames in links for frame in frames} - sent == set()
    assert ("C1", "R1", ("REDIS_COMMAND",)) in links
    assert all("N1" not in (link.source, link.target) for link in links)


def test_work_that_goes_on_elsewhere_sends_and_services_are_asked():
    going_on = {(source, target): frames for source, target, frames in message_links(load_scenario("sub-messages"))}
    assert going_on["C1", "B1"][-2:] == ("SEND_MESSAGE_V2", "END_TRANSACTION")
    assert going_on["B1", "C1"][-1] == "CHECK_TRANSACTION_STATE"
    assert ("C1", "D2") not in going_on, "its work is in D1"
    calling = message_links(load_scenario("six-steps"))
    assert ("S1", "C1", ("reply to SERVICE_CALL",)) in calling


def test_faults_of_links_meet_what_travels_there_while_it_travels():
    """The first message is due at 1 s, the last one at 6.05 s."""
    frames = {f"{source}->{target}": names for source, target, names in message_links(SCENARIO)}
    begun = [fault.begin for seed in range(300) for fault in draw_faults(SCENARIO, seed)]
    assert {one.time_ms for one in begun} <= set(range(1_000, 8_051))
    of_links = [one.command for one in begun if one.command.get("target", "").count("-") == 1]
    assert len(of_links) > 100
    for command in of_links:
        direction = str(command["target"]).replace("<->", "->")
        assert direction in frames
        assert command.get("frame", frames[direction][0]) in frames[direction]
    everywhere = [name for names in frames.values() for name in names]
    assert all(one.command.get("frame", everywhere[0]) in everywhere for one in begun)
