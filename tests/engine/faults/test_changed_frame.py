"""What a person makes of a held frame: the same frame but for what was changed."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.faults.changed_frame import changed_frame, properties_of
from engine.faults.errors import FaultRefused
from engine.faults.frame_subject import FrameSubject
from engine.protocol.command.remoting_command import RemotingCommand, SerializeType, decode_command
from engine.protocol.message.message_properties import encode_properties, is_carriable
from engine.protocol.request_code import RequestCode

_WORDS = st.text(min_size=1, max_size=20).filter(is_carriable)


def send(code=RequestCode.SEND_MESSAGE_V2, **properties):
    field = "i" if code == RequestCode.SEND_MESSAGE_V2 else "properties"
    topic = "b" if code == RequestCode.SEND_MESSAGE_V2 else "topic"
    request = RemotingCommand.request(code, body=b"hello")
    request.opaque, request.ext_fields = 7, {topic: "T", field: encode_properties(properties)}
    return request


def change(command, fields=None, properties=None, body=None):
    return decode_command(changed_frame(FrameSubject(command), fields or {}, properties or {}, body))


@given(
    st.sampled_from(SerializeType),
    st.dictionaries(_WORDS, _WORDS, max_size=5),
    st.dictionaries(_WORDS, _WORDS | st.just(""), max_size=5),
    st.none() | st.binary(max_size=50),
)
def test_what_was_not_changed_stays_as_it_was(serialize_type, before, wanted, body):
    command = dataclasses.replace(send(**before), serialize_type=serialize_type)
    changed = change(command, {"b": "U"}, wanted, body)
    expected = {name: value for name, value in (before | wanted).items() if value}
    assert properties_of(changed) == expected
    assert changed.ext_fields["b"] == "U"
    assert changed.body == (b"hello" if body is None else body)
    kept = [field.name for field in dataclasses.fields(command) if field.name not in ("ext_fields", "body")]
    assert [getattr(changed, name) for name in kept] == [getattr(command, name) for name in kept]


@pytest.mark.parametrize("code", [RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2])
def test_a_property_gets_another_value_a_new_one_comes_and_an_empty_one_goes(code):
    changed = change(send(code, KEYS="k", TAGS="t"), properties={"KEYS": "changed", "TAGS": "", "mine": "1"})
    assert properties_of(changed) == {"KEYS": "changed", "mine": "1"}


def test_a_header_field_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(FaultRefused, match="b, i"):
        change(send(), fields={"topic": "U"})


@pytest.mark.parametrize("properties", [{"a\x01b": "1"}, {"a": "1\x02"}])
def test_a_property_that_no_message_can_carry_is_refused(properties):
    with pytest.raises(FaultRefused):
        change(send(), properties=properties)


def test_a_frame_that_sends_no_message_has_no_properties_to_change():
    for command in (RemotingCommand.request(RequestCode.PULL_MESSAGE), send().reply(0)):
        assert properties_of(command) is None
        with pytest.raises(FaultRefused):
            change(command, properties={"KEYS": "k"})
