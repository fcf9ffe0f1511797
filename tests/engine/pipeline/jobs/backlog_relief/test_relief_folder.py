"""The state that each commit of the folder keeps. Needs no Spark."""

from __future__ import annotations

import json

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.backlog_relief.relief_folder import MovedBatch, MovedRange, ReliefState
from engine.pipeline.source.cluster.queue_offsets import QueueKey

QUEUE = "Orders broker-a:0"
STATE = ReliefState(
    "identity",
    "billing",
    "bulk",
    ranges={QueueKey("Orders", "broker-a", 0): MovedRange(5, 30, 8, 9, 12)},
    batches={3: MovedBatch(("a.parquet", "b.parquet"), 10, sent=2, sent_up_to={QUEUE: 7}), 4: MovedBatch(("c",), 5)},
)


def read(state, group="billing", rule="bulk"):
    return ReliefState.from_json(json.loads(json.dumps(state.to_json())), "/aside", group, rule)


def test_a_state_is_the_same_when_it_is_read_back():
    begun = STATE.begin(3, "Later", {QUEUE: (7, 11)})
    for state in (STATE, begun, begun.finish(4, 1)):
        assert read(state) == state


def test_what_was_sent_and_what_no_broker_takes_is_done():
    state = STATE.begin(3, "Later", {QUEUE: (7, 11)}).finish(4, 1)
    assert (state.sending, state.sendings, state.sent, state.not_sent) == (None, 1, 4, 1)
    assert state.batches[3].waiting == 3 and state.batches[3].sent_up_to == {QUEUE: 12}
    state = state.begin(3, "Later", {QUEUE: (12, 14)}).finish(0, 3)
    assert sorted(state.batches) == [4] and (state.sent, state.not_sent, state.sendings) == (4, 4, 2)


@pytest.mark.parametrize("other", [{"group": "shipping"}, {"rule": "report"}])
def test_a_folder_of_another_group_or_rule_is_refused(other):
    with pytest.raises(
        JobFailed, match=r"/aside holds .* for group 'billing' by the rule 'bulk', but this run is for group"
    ):
        read(STATE, **other)
