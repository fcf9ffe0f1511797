"""A lost frame is a cause, whatever lost it: a rule of the link, a command, or a cut."""

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.why.answer import WhyQuestion
from engine.lab.why.evidence import Evidence
from tests.engine.lab.why.asking import TimedActions, asked, keys_of

#: The rule that would drop the frame is taken away, and the frame dropped by hand.
COMMIT_DROPPED: TimedActions = (
    (9_000, (("kind", "heal"),)),
    (9_000, (("kind", "drop-frame"), ("target", "C1->B1"), ("frame", "UPDATE_CONSUMER_OFFSET"))),
)


def test_an_offset_dropped_on_its_way_is_lost():
    answer = asked("lost-offset-commit", "order-3", WhyQuestion.TWICE, actions=COMMIT_DROPPED)
    assert answer.cause == "commit-lost-and-died"
    assert "frame_lost" in keys_of(answer.steps)


def test_a_frame_that_a_cut_catches_half_across_is_lost():
    with LabRun(load_scenario("batch-trade-offs"), check=False) as run:
        evidence = Evidence(run)
        lost = []
        run.world.lab.network.cut_watchers.append(lost.append)
        run.run_to_time(2_000_000)
        while not (sent := evidence.frames.newest).copies or len(sent.data) < 1_000:
            assert run.step()
        run.apply(parse_command({"kind": "partition", "left": [sent.source], "right": [sent.target]}))
        assert lost
        assert [frame.copies for frame in evidence.frames.frames(0, run.event_number) if frame.data is sent.data] == [0]
