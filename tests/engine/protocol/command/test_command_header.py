"""Custom headers: wire names, mandatory fields, ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.command.command_header import CommandHeader, Int32
from engine.protocol.command.headers import (
    PullMessageRequestHeader,
    RegisterBrokerRequestHeader,
    SendMessageRequestHeader,
    UnregisterClientRequestHeader,
)
from engine.protocol.command.send_header_reader import decode_send_header_v2
from engine.protocol.errors import MalformedHeader

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
int64 = st.integers(-(1 << 63), (1 << 63) - 1)
send_headers = st.builds(
    SendMessageRequestHeader,
    producer_group=st.text(),
    topic=st.text(),
    default_topic=st.text(),
    default_topic_queue_nums=int32,
    queue_id=int32,
    sys_flag=int32,
    born_timestamp=int64,
    flag=int32,
    properties=st.none() | st.text(),
    reconsume_times=int32,
    unit_mode=st.booleans(),
    batch=st.booleans(),
    max_reconsume_times=st.none() | int32,
    broker_name=st.none() | st.text(),
)


@given(send_headers)
def test_the_long_and_the_short_form_say_the_same(header: SendMessageRequestHeader) -> None:
    assert SendMessageRequestHeader.decode(header.encode()) == header
    assert decode_send_header_v2(header.encode_v2()) == header


def test_names_on_the_wire_are_rocketmqs() -> None:
    assert UnregisterClientRequestHeader("c", "p").encode() == {"clientID": "c", "producerGroup": "p"}
    registration = RegisterBrokerRequestHeader("b", "1.2.3.4:5", "c", "", 0)
    assert registration.encode()["brokerName"] == "b"


def pull_fields() -> dict[str, str]:
    return PullMessageRequestHeader("g", "t", 0, 0, 32, 0, 0, 15_000).encode()


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("queueId", "x", "whole number"),
        ("queueId", "", "whole number"),
        ("queueId", "1_0", "whole number"),
        ("queueId", "\u0661", "whole number"),
        ("queueId", "2147483648", "does not fit 32 bits"),
        ("queueOffset", "9223372036854775808", "does not fit 64 bits"),
        ("queueOffset", "9" * 5000, "whole number"),
    ],
)
def test_a_wrong_value_is_named(field: str, value: str, why: str) -> None:
    with pytest.raises(MalformedHeader, match=f"{field}.*{why}"):
        PullMessageRequestHeader.decode({**pull_fields(), field: value})


def test_a_missing_field_is_named() -> None:
    fields = pull_fields()
    del fields["consumerGroup"]
    with pytest.raises(MalformedHeader, match=r"consumerGroup.*missing"):
        PullMessageRequestHeader.decode(fields)


@pytest.mark.parametrize(("letter", "name"), [("e", "queueId"), ("g", "bornTimestamp"), ("a", "producerGroup")])
def test_the_short_form_names_the_field_in_full(letter: str, name: str) -> None:
    fields = SendMessageRequestHeader("g", "t", "TBW102", 4, 0, 0, 0, 0).encode_v2()
    del fields[letter]
    with pytest.raises(MalformedHeader, match=name):
        decode_send_header_v2(fields)


def test_unknown_fields_are_ignored() -> None:
    assert PullMessageRequestHeader.decode({**pull_fields(), "future": "1"}).topic == "t"


def test_booleans_come_as_words_and_as_digits() -> None:
    fields = SendMessageRequestHeader("g", "t", "TBW102", 4, 0, 0, 0, 0).encode()
    assert SendMessageRequestHeader.decode({**fields, "batch": "1"}).batch is True
    assert SendMessageRequestHeader.decode({**fields, "batch": "FALSE"}).batch is False
    with pytest.raises(MalformedHeader, match="batch"):
        SendMessageRequestHeader.decode({**fields, "batch": "maybe"})


def test_a_header_cannot_be_derived_from_another_one() -> None:
    with pytest.raises(AssertionError, match="left out"):

        class Derived(PullMessageRequestHeader):
            more: Int32 = 0


def test_fields_are_found_once_and_by_the_first_who_reads() -> None:
    class Header(CommandHeader):
        topic: str
        queue_id: Int32 = 7

    assert "field_codecs" not in Header.__dict__
    assert Header.decode({"topic": "t"}) == Header("t", 7)
    assert [codec.wire_name for codec in Header.field_codecs] == ["topic", "queueId"]
    assert "field_codecs" in Header.__dict__
