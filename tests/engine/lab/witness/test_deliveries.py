"""A delivery has one beginning and one end, whatever asks and whenever it asks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded, LabHistory, NodeChanged
from engine.lab.witness.deliveries import Deliveries, Delivery
from tests.support.lab.lab_scenarios import apply, run_to_ms

#: What happens, one event each: a call of a node begins or ends at an offset of a queue, or its process ends.
STORIES = st.lists(
    st.tuples(st.sampled_from(("begin", "end", "crash")), st.sampled_from(("C1", "C2")), st.integers(0, 1)), max_size=30
)


def history_of(story: list[tuple[str, str, int]], history: LabHistory | None = None, first: int = 1) -> LabHistory:
    history = history or LabHistory()
    for event, (action, node, offset) in enumerate(story, first):
        call = (event, event * 10, node, "g", "T", "B1", 0, offset, f"k-{offset}", 0)
        match action:
            case "begin":
                history.consumes_began.append(ConsumeBegan(*call))
            case "end":
                history.consumes_ended.append(ConsumeEnded(*call, "success"))
            case _:
                history.nodes_changed.append(NodeChanged(event, event * 10, node, "crashed"))
    return history


@given(STORIES, st.integers(0, 30))
def test_the_past_is_what_was_the_present_then(story, event):
    now = Deliveries(history_of(story))
    then = Deliveries(history_of(story[:event]))
    assert now.up_to(event) == then.all()
    assert [one.as_of(event) for one in now.of("k-0") if one.began.event <= event] == then.of("k-0")


@given(STORIES, st.integers(0, 30))
def test_it_does_not_matter_how_often_it_is_asked(story, pause):
    history = history_of(story[:pause])
    often = Deliveries(history)
    often.all()
    history_of(story[pause:], history, min(pause, len(story)) + 1)
    once = Deliveries(history)
    assert often.all() == once.all()
    assert often.ended() == once.ended()


@given(STORIES)
def test_each_end_ends_the_first_call_that_it_may_belong_to(story):
    deliveries = Deliveries(history_of(story))
    assert [one.began for one in deliveries.all()] == history_of(story).consumes_began
    ends = [one.end_event or 0 for one in deliveries.ended()]
    assert ends == sorted(ends)
    running: list[Delivery] = [one for one in deliveries.all() if one.end is None]
    assert len(running) + len(ends) == len(deliveries.all())
    for node, place in {(one.began.node, one.place) for one in deliveries.all()}:
        here = [one for one in deliveries.all() if (one.began.node, one.place) == (node, place)]
        ends_here = [one.end_event or len(story) + 1 for one in here]
        assert ends_here == sorted(ends_here)
    assert all(one.end is None or one.end.event > one.began.event for one in deliveries.all())


def test_a_process_that_dies_ends_its_deliveries_and_no_others(started):
    run = started(("duration_ms: 20}", "duration_ms: 60000}"))
    deliveries = run.world.witness.deliveries
    assert {one.result for one in deliveries.all()} == {"running"}
    before = len(deliveries.all())
    apply(run, "crash", "C1")
    assert {one.result for one in deliveries.all()} == {"died"}
    assert {one.result for one in deliveries.up_to(run.event_number - 1)} == {"running"}
    apply(run, "restart", "C1")
    run_to_ms(run, 20_000)
    assert {one.result for one in deliveries.all()[:before]} == {"died"}
    assert {one.result for one in deliveries.all()[before:]} == {"running"}
