"""The life of a message by its stored copies, which both worlds read alike."""

from __future__ import annotations

import pytest

from app.lab.views.life_view import LifeView
from app.observation.message_life import copy_mark, copy_view, newest_copy_for, state_by_copy
from app.observation.message_trail import MARKS_MAX, Subscription, TrailFacts, trail_of
from app.observation.unix_time import unix_us
from app.picture.message_life import CopyMark, MessageLives, StoredMessageLife
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_copies import CopyKind, kind_of_copy
from engine.protocol.names import SCHEDULE_TOPIC, TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC
from tests.support.picture.schema_problems import schema_problems

LEVELS_MS = (0, 1_000, 5_000)
#: Kind -> topic, queue, properties and retries of a stored copy.
COPIES = {
    CopyKind.STORED: ("T", 0, {}, 0),
    CopyKind.HALF: (TRANSACTION_HALF_TOPIC, 0, {"REAL_TOPIC": "T"}, 0),
    CopyKind.GIVEN_UP: (TRANSACTION_CHECK_MAX_TIME_TOPIC, 0, {"REAL_TOPIC": "T"}, 0),
    CopyKind.DELAYED: (SCHEDULE_TOPIC, 1, {"REAL_TOPIC": "%RETRY%g", "RETRY_TOPIC": "T"}, 1),
    CopyKind.DUE: ("%RETRY%g", 0, {"RETRY_TOPIC": "T"}, 1),
    CopyKind.DEAD: ("%DLQ%g", 0, {"RETRY_TOPIC": "T"}, 2),
    CopyKind.RESENT: ("%RETRY%g", 0, {"RETRY_TOPIC": "T", "RESENT_DEAD_LETTER": "id"}, 0),
}


def stored(kind, at_ms, offset=0):
    topic, queue_id, properties, retries = COPIES[kind]
    return MessageExt(
        topic=topic,
        body=b"body",
        properties={"KEYS": "k", "UNIQ_KEY": "U", **properties},
        queue_id=queue_id,
        queue_offset=7,
        commit_log_offset=offset,
        born_timestamp=at_ms - 1,
        born_host="10.0.0.1:1",
        store_timestamp=at_ms,
        store_host="10.0.0.2:2",
        reconsume_times=retries,
        broker_name="B",
    )


def life_of(*kinds, committed=None, subscriptions=None):
    facts = TrailFacts(committed or {}, LEVELS_MS, subscriptions or {})
    life = trail_of([stored(kind, 1_000 * number, number) for number, kind in enumerate(kinds, 1)], facts)
    assert list(schema_problems(life, StoredMessageLife)) == []
    return life


@pytest.mark.parametrize("kind", CopyKind)
def test_every_kind_of_copy_has_a_mark_that_follows_the_schema(kind):
    message = stored(kind, 1_000)
    assert kind_of_copy(message) == kind
    copy = copy_view(message, kind, "B", "k", unix_us, LEVELS_MS)
    mark = copy_mark(copy, copy.stored_us)
    assert list(schema_problems(mark, CopyMark)) == []
    assert ("until_us" in mark, "resends" in mark) == (kind == "delayed", kind == "resent")
    assert ("lost" in mark, copy_mark(copy, 0, is_lost=True)["lost"]) == (False, True)


def test_a_delayed_copy_is_due_after_its_delay_and_at_an_unknown_time_where_the_broker_has_no_such_level():
    delayed = stored(CopyKind.DELAYED, 1_000)
    assert copy_view(delayed, CopyKind.DELAYED, "B", "k", unix_us, LEVELS_MS).due_us == 6_000_000
    assert copy_view(delayed, CopyKind.DELAYED, "B", "k", unix_us, LEVELS_MS[:2]).due_us is None
    assert copy_view(stored(CopyKind.STORED, 1), CopyKind.STORED, "B", "k", unix_us, LEVELS_MS).due_us is None


def test_the_newest_copy_of_a_group_is_one_that_it_can_receive():
    kinds = [CopyKind.HALF, CopyKind.STORED, CopyKind.DELAYED, CopyKind.DUE, CopyKind.GIVEN_UP]
    copies = [
        copy_view(stored(kind, number), kind, "B", "k", unix_us, LEVELS_MS) for number, kind in enumerate(kinds, 1)
    ]
    found = [newest_copy_for("g", copies[:end]) for end in range(6)]
    assert [one and one.kind for one in found] == [None, None, "stored", "delayed", "due", "due"]
    assert [state_by_copy(one) for one in found] == [None, None, None, "delayed", None, None]
    of_another = newest_copy_for("h", copies)
    assert of_another is not None and of_another.kind == "stored"


@pytest.mark.parametrize(
    ("kinds", "committed", "part"),
    [
        (["stored"], 8, {"state": "passed"}),
        (["stored"], 7, {"state": "waiting", "behind": 0}),
        (["stored"], 2, {"state": "waiting", "behind": 5}),
        (["half", "given-up"], None, {}),
        (["stored", "delayed"], 8, {"state": "delayed", "until_us": 7_000_000}),
        (["stored", "delayed", "due", "dead"], 8, {"state": "dead"}),
    ],
)
def test_the_state_of_a_group_follows_from_its_newest_copy_and_its_offset(kinds, committed, part):
    place = {} if committed is None else {("g", "B", "T", 0): committed}
    life = life_of(*map(CopyKind, kinds), committed=place)
    assert life["groups"] == ({"g": {"until_us": None, **part}} if part else {})
    assert life["in_trouble"] == (kinds != ["stored"])


def test_a_subscription_that_does_not_want_a_message_filters_it():
    place = {("g", "B", "T", 0): 8}
    for wants, state in ((False, "filtered"), (True, "passed"), (None, "passed")):
        life = life_of(CopyKind.STORED, committed=place, subscriptions={"g": Subscription("a", wants)})
        assert life["groups"]["g"] == {"state": state, "until_us": None, "expression": "a"}
    unread = life_of(CopyKind.STORED, subscriptions={"g": Subscription("a", None)})
    assert unread["groups"]["g"]["state"] == "unread"


def test_a_long_life_keeps_its_newest_marks():
    life = life_of(*[CopyKind.RESENT] * (MARKS_MAX + 5))
    assert (len(life["marks"]), life["omitted_marks"]) == (MARKS_MAX, 6)
    assert life["marks"][-1]["offset"] == MARKS_MAX + 5


def test_the_lives_of_a_world_follow_the_schema_and_name_kinds_as_a_live_broker_does():
    with LabRun(load_scenario("retry-to-dead-letter")) as run:
        run.run_to_time(run.world.end_us)
        lives = LifeView(run.world).build()
    assert list(schema_problems(lives, MessageLives)) == []
    (dead,) = [life for life in lives["messages"].values() if any(mark["kind"] == "dead" for mark in life["marks"])]
    live = life_of(CopyKind.STORED, CopyKind.DELAYED, CopyKind.DUE, CopyKind.DEAD)
    marks = {mark["kind"]: mark for mark in dead["marks"] if "offset" in mark}
    assert [mark.keys() for mark in live["marks"][1:]] == [marks[mark["kind"]].keys() for mark in live["marks"][1:]]
