"""The index finds every rule for a frame, in order; frames that no rule concerns bypass the interceptors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.faults.fault_rule import Direction, FaultAction, FaultRule
from engine.faults.frame_subject import FrameSubject
from engine.faults.rule_index import RuleIndex, directions_of
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.request_code import RequestCode

PATTERNS = st.sampled_from(["", "", "", "a", "ab", "abc", "b", "a*", "ab*", "*", "b*"])
NAMES = st.sampled_from(["a", "ab", "abc", "b", "c"])
RULES = st.lists(
    st.builds(
        FaultRule,
        what=st.just(FaultAction.DROP),
        frame=st.sampled_from(["", "reply", "SEND_MESSAGE_V2", "reply to SEND_MESSAGE_V2", "PULL_MESSAGE"]),
        client=PATTERNS,
        topic=PATTERNS,
        group=PATTERNS,
        key=PATTERNS,
    ),
    max_size=30,
)


@st.composite
def subjects(draw):
    send = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2)
    send.ext_fields = {
        "a": draw(NAMES),
        "b": draw(NAMES),
        "i": encode_properties({"KEYS": f"{draw(NAMES)} {draw(NAMES)}"}),
    }
    asked = FrameSubject(send)
    reply = FrameSubject(send.reply(0), asked)
    return draw(
        st.sampled_from([asked, reply, FrameSubject(send.reply(0)), FrameSubject(RemotingCommand.request(4_711))])
    )


@given(RULES, st.lists(st.tuples(subjects(), NAMES), max_size=5))
def test_what_the_index_finds_holds_all_rules_that_mean_the_frame_in_their_order(rules, frames):
    for number, rule in enumerate(rules):
        rule.rule_id = number
    index = RuleIndex(rules)
    for subject, client in frames:
        found = [*index.candidates(subject, client)]
        meant = [rule for rule in rules if rule.means(subject, Direction.IN, client)]
        assert [rule for rule in found if rule.means(subject, Direction.IN, client)] == meant
        assert len({id(rule) for rule in found}) == len(found)


def test_of_a_hundred_rules_for_other_topics_none_is_asked():
    send = RemotingCommand.request(RequestCode.SEND_MESSAGE_V2)
    send.ext_fields = {"b": "orders"}
    rules = [FaultRule(FaultAction.DROP, "SEND_MESSAGE_V2", topic=f"other-{number}") for number in range(50)]
    rules += [FaultRule(FaultAction.DROP, "SEND_MESSAGE_V2", topic=f"other-{number}*") for number in range(50)]
    assert RuleIndex(rules).candidates(FrameSubject(send), "") == []


def test_names_that_a_client_makes_up_take_no_room():
    index = RuleIndex([FaultRule(FaultAction.DROP, "PULL_MESSAGE")])
    for code in range(100_000, 101_000):
        assert index.candidates(FrameSubject(RemotingCommand.request(code)), "") == []
    assert len(index._found_by_name) <= 500


@pytest.mark.parametrize(
    ("frame", "direction", "expected"),
    [
        ("PULL_MESSAGE", "", {Direction.IN}),
        ("CHECK_TRANSACTION_STATE", "", {*Direction}),
        ("reply to PULL_MESSAGE", "", {*Direction}),
        ("", "", {*Direction}),
        ("", "out", {Direction.OUT}),
    ],
)
def test_what_a_broker_sends_is_not_looked_at_for_the_sake_of_requests_that_only_clients_make(
    frame, direction, expected
):
    assert directions_of(FaultRule(FaultAction.DROP, frame, direction)) == expected
