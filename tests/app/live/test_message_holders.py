"""Which member holds a message, by what clients of several kinds report of their process queues."""

from __future__ import annotations

from typing import Any

import pytest

from app.live.client_answers import running_info_view
from app.live.client_questions import GROUPS_MAX
from app.live.message_holders import state_in, waiting_groups
from engine.protocol.json_form.json_text import ObjectKeyMap, dumps_json

KEY = {"brokerName": "b", "queueId": 1, "topic": "T"}


def reported(**facts):
    """The process queue of a client that reports no trees, as the Java client does."""
    info = {"mqTable": ObjectKeyMap([(KEY, facts)])}
    return running_info_view(dumps_json(info))["queues"][0]


def tree(count, first, last, name="cachedMsg"):
    return {f"{name}Count": count, f"{name}MinOffset": first, f"{name}MaxOffset": last}


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({}, None),
        (tree(0, 0, 0), None),
        (tree(3, 5, 7), "held"),
        (tree(2, 5, 7), None),  # 6 may be done already
        (tree(1, 6, 6), "held"),
        (tree(1, 7, 7), None),
        (tree(1, 6, 6, "transactionMsg"), "delivering"),
        (tree(2, 7, 8) | tree(2, 5, 6, "transactionMsg"), "delivering"),
    ],
)
def test_a_member_holds_what_is_certainly_in_its_tree(facts, state):
    assert state_in(reported(**facts), 6) == state


def test_with_a_tree_a_gap_is_seen():
    leaf = {"key": "", "red": False, "left": None, "right": None}
    queue = reported(**tree(2, 5, 7))
    queue["tree"] = {**leaf, "offset": 5, "right": {**leaf, "offset": 7}}
    assert [state_in(queue, offset) for offset in (4, 5, 6, 7, 8)] == [None, "held", None, "held", None]


def life(**states) -> Any:
    return {"groups": {group: {"state": state} for group, state in states.items()}}


def test_only_groups_that_have_not_confirmed_a_message_are_asked_and_not_all():
    one = life(a="waiting", b="unread", c="passed", d="dead")
    assert waiting_groups([one, one]) == ["a", "b"]
    many = life(**{f"g{number}": "waiting" for number in range(GROUPS_MAX + 1)})
    assert len(waiting_groups([many])) == GROUPS_MAX
