"""How the notes of a message trace travel: as Java's client writes them, read back as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client.trace.trace_context import MessageType, TraceBean, TraceContext, TraceType
from engine.client.trace.trace_data_encoder import decode_trace_data, encode_trace_context, trace_keys
from engine.protocol.errors import MalformedBody

WORD = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), max_size=20).filter(
    lambda text: text != "null"
)
NUMBER = st.integers(0, 1 << 40)
MAYBE_WORD = st.none() | WORD


@given(
    st.builds(
        TraceContext,
        st.just(TraceType.PUB),
        NUMBER,
        WORD,
        st.tuples(
            st.builds(
                TraceBean,
                message_id=WORD,
                topic=WORD,
                tags=MAYBE_WORD,
                keys=MAYBE_WORD,
                store_host=WORD,
                body_length=NUMBER,
                message_type=st.sampled_from(MessageType),
                offset_message_id=WORD,
            )
        ),
        region_id=MAYBE_WORD,
        cost_ms=NUMBER,
        success=st.booleans(),
    )
    | st.builds(
        TraceContext,
        st.just(TraceType.SUB_BEFORE),
        NUMBER,
        WORD,
        st.tuples(st.builds(TraceBean, message_id=WORD, retry_times=NUMBER, keys=MAYBE_WORD)),
        region_id=MAYBE_WORD,
        request_id=WORD,
    )
    | st.builds(
        TraceContext,
        st.just(TraceType.SUB_AFTER),
        NUMBER,
        WORD,
        st.tuples(st.builds(TraceBean, message_id=WORD, keys=MAYBE_WORD)),
        cost_ms=NUMBER,
        success=st.booleans(),
        request_id=WORD,
        context_code=st.integers(0, 4),
    )
    | st.builds(
        TraceContext,
        st.just(TraceType.END_TRANSACTION),
        NUMBER,
        WORD,
        st.tuples(
            st.builds(
                TraceBean,
                message_id=WORD,
                topic=WORD,
                tags=MAYBE_WORD,
                keys=MAYBE_WORD,
                store_host=WORD,
                message_type=st.sampled_from(MessageType),
                transaction_id=MAYBE_WORD,
                transaction_state=WORD,
                from_transaction_check=st.booleans(),
            )
        ),
        region_id=MAYBE_WORD,
    )
)
def test_what_was_noted_is_what_is_read(context: TraceContext):
    assert decode_trace_data(encode_trace_context(context)) == [context]


def test_the_records_are_those_of_the_java_client():
    sent = TraceBean("ID", "T", "tag", None, "1.2.3.4:10911", 7, 0, MessageType.DELAY_MSG, "OFF")
    pub = TraceContext(TraceType.PUB, 1_700, "g", (sent,), region_id="DefaultRegion", cost_ms=12)
    assert encode_trace_context(pub) == (
        "Pub\x011700\x01DefaultRegion\x01g\x01T\x01ID\x01tag\x01null\x011.2.3.4:10911\x017\x0112\x013\x01OFF\x01true\x02"
    )
    both = (TraceBean("A", keys="k", retry_times=2), TraceBean("B", keys=None))
    before = TraceContext(TraceType.SUB_BEFORE, 5, "c", both, region_id=None, request_id="R")
    assert encode_trace_context(before) == (
        "SubBefore\x015\x01null\x01c\x01R\x01A\x012\x01k\x02SubBefore\x015\x01null\x01c\x01R\x01B\x010\x01null\x02"
    )
    after = TraceContext(
        TraceType.SUB_AFTER, 9, "c", both[:1], cost_ms=4, success=False, request_id="R", context_code=4
    )
    assert encode_trace_context(after) == "SubAfter\x01R\x01A\x014\x01false\x01k\x014\x019\x01c\x02"
    assert trace_keys(before) == ["A", "k", "B"]
    end = TraceBean("ID", "T", None, "k", "h", 0, 0, MessageType.TRANS_MSG_COMMIT, "", "X", "COMMIT_MESSAGE", True)
    context = TraceContext(TraceType.END_TRANSACTION, 3, "g", (end,), region_id="r")
    assert encode_trace_context(context) == (
        "EndTransaction\x013\x01r\x01g\x01T\x01ID\x01null\x01k\x01h\x012\x01X\x01COMMIT_MESSAGE\x01true\x02"
    )


def test_records_of_older_and_of_later_clients_are_read():
    old = "Pub\x011\x01r\x01g\x01T\x01ID\x01t\x01k\x01h\x017\x0112\x010\x01true\x02"
    later = "Pub\x011\x01r\x01g\x01T\x01ID\x01t\x01k\x01h\x017\x0112\x010\x01OFF\x01true\x01client\x02"
    short = "SubAfter\x01R\x01A\x014\x01true\x01k\x02"
    notes = decode_trace_data(old + later + "Unheard\x01of\x02" + short)
    assert [note.success for note in notes] == [True, True, True]
    assert [note.beans[0].offset_message_id for note in notes[:2]] == ["", "OFF"]


def test_a_record_that_cannot_be_read_is_named():
    with pytest.raises(MalformedBody, match=r"trace record 1 \(Pub, 2 fields\)"):
        decode_trace_data("SubAfter\x01R\x01A\x014\x01true\x01k\x02Pub\x01x\x01y\x02")


def test_a_separator_in_a_key_does_not_cut_the_record():
    context = TraceContext(TraceType.PUB, 1, "g", (TraceBean("ID", keys="a\x02b\x01c"),))
    assert decode_trace_data(encode_trace_context(context))[0].beans[0].keys == "a b c"
