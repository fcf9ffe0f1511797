"""All requests and responses: round trips, frames that are cut or made up, and the tree that the lab shows."""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kafka.records.compression import SPOKEN_CODECS
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.wire.api_key import ApiKey
from engine.kafka.wire.fields import (
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    KafkaMessage,
    NullableString,
    Records,
    String,
)
from engine.kafka.wire.frames import (
    EXCHANGES,
    UnsupportedVersion,
    correlation_id_of,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_tree,
    response_tree,
)
from engine.kafka.wire.records_tree import FieldTree
from tests.support.kafka.bad_requests import produce_request
from tests.support.kafka.partitions import batch_of

_VALUES = {
    Int8: st.integers(-(1 << 7), (1 << 7) - 1),
    Int16: st.integers(-(1 << 15), (1 << 15) - 1),
    Int32: st.integers(-(1 << 31), (1 << 31) - 1),
    Int64: st.integers(-(1 << 63), (1 << 63) - 1),
    Bool: st.booleans(),
    String: st.text(max_size=20),
    NullableString: st.none() | st.text(max_size=20),
    Records: st.none() | st.binary(max_size=100) | st.sampled_from([batch_of(3, 0, codec) for codec in SPOKEN_CODECS]),
}


def _values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type."""
    if hint in _VALUES:
        return _VALUES[hint]
    if get_origin(hint) is tuple:
        return st.lists(_values_of(get_args(hint)[0]), max_size=3).map(tuple)
    choices = get_args(hint)
    if choices:
        return st.one_of(*[st.none() if choice is NoneType else _values_of(choice) for choice in choices])
    return st.builds(hint, **{name: _values_of(of) for name, of in get_type_hints(hint, include_extras=True).items()})


REQUESTS = st.sampled_from(list(EXCHANGES.values())).flatmap(lambda exchange: _values_of(exchange.request))
RESPONSES = st.sampled_from(list(EXCHANGES.items())).flatmap(
    lambda item: st.tuples(st.just(item[0]), _values_of(item[1].response))
)
CORRELATION_IDS = _VALUES[Int32]


def _code_of(action: Callable[[], object]) -> KafkaErrorCode | None:
    try:
        action()
    except KafkaRefusal as refusal:
        return refusal.code
    return None


@given(REQUESTS, CORRELATION_IDS)
def test_a_request_is_what_it_was(request: KafkaMessage, correlation_id: int) -> None:
    frame = encode_request(request, correlation_id, "client-1")
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, decoded = decode_request(frame[4:])
    assert decoded == request
    assert (header.correlation_id, header.client_id) == (correlation_id, "client-1")


@given(RESPONSES, CORRELATION_IDS)
def test_a_response_is_what_it_was(keyed: tuple[ApiKey, KafkaMessage], correlation_id: int) -> None:
    key, response = keyed
    frame = encode_response(response, correlation_id)[4:]
    assert correlation_id_of(frame) == correlation_id
    assert decode_response(frame, key) == response


@given(REQUESTS, st.data())
def test_a_frame_that_was_cut_is_refused(request: KafkaMessage, data: st.DataObject) -> None:
    frame = encode_request(request, 1, "client-1")[4:]
    cut = frame[: data.draw(st.integers(0, len(frame) - 1))]
    assert _code_of(lambda: decode_request(cut)) == KafkaErrorCode.INVALID_REQUEST


@given(RESPONSES, st.binary(min_size=1, max_size=9))
def test_a_response_with_more_behind_it_is_refused(keyed: tuple[ApiKey, KafkaMessage], more: bytes) -> None:
    key, response = keyed
    frame = encode_response(response, 1)[4:]
    assert _code_of(lambda: decode_response(frame + more, key)) == KafkaErrorCode.INVALID_REQUEST


@given(st.sampled_from(list(EXCHANGES)), st.binary(max_size=200))
def test_made_up_bytes_are_read_or_refused_and_nothing_else(key: ApiKey, data: bytes) -> None:
    assert _code_of(lambda: EXCHANGES[key].request.decode(data)) in (None, KafkaErrorCode.INVALID_REQUEST)
    assert _code_of(lambda: response_tree(bytes(4) + data, key)) in (None, KafkaErrorCode.INVALID_REQUEST)


def _check_places(trees: tuple[FieldTree, ...], start: int, end: int) -> None:
    """One field begins where the one before ends; parts are at the end of the whole, after its length or count."""
    for tree in trees:
        assert tree.position == start
        start += tree.length
        parts = [part for part in tree.children if part.position >= 0]
        if parts:
            _check_places(tuple(parts), tree.position + tree.length - sum(part.length for part in parts), start)
    assert start == end


@given(REQUESTS)
def test_the_tree_of_a_request_covers_every_byte_once(request: KafkaMessage) -> None:
    frame = encode_request(request, 1, "client-1")[4:]
    _check_places(request_tree(frame), 0, len(frame))


@given(RESPONSES)
def test_the_tree_of_a_response_covers_every_byte_once(keyed: tuple[ApiKey, KafkaMessage]) -> None:
    key, response = keyed
    frame = encode_response(response, 1)[4:]
    _check_places(response_tree(frame, key), 0, len(frame))


def _found(trees: tuple[FieldTree, ...], *path: str) -> FieldTree:
    tree = next(tree for tree in trees if tree.name == path[0])
    return _found(tree.children, *path[1:]) if path[1:] else tree


@pytest.mark.parametrize("codec", SPOKEN_CODECS)
def test_the_tree_opens_batches_to_the_fields_of_their_records(codec) -> None:
    batch = batch_of(3, 0, codec)
    frame = encode_request(produce_request(batch), 1, "client-1")[4:]
    trees = request_tree(frame)
    assert _found(trees, "client_id").value == "client-1"
    tree = _found(trees, "topics", "topics[0]", "partitions", "partitions[0]", "records", "batch[0]")
    assert frame[tree.position : tree.position + tree.length] == batch
    assert _found(tree.children, "record_count").value == "3"
    key = _found(tree.children, "records", "record[2]", "key")
    assert key.value == "order-0002"
    if codec:
        assert key.position == -1, "what was packed has no bytes of its own in the frame"
    else:
        assert frame[key.position : key.position + key.length] == b"order-0002"


def test_a_damaged_batch_is_shown_as_such() -> None:
    batch = batch_of(3)
    frame = encode_request(produce_request(batch[:-1] + b"\7"), 1, "client-1")[4:]
    records = _found(request_tree(frame), "topics", "topics[0]", "partitions", "partitions[0]", "records")
    (damaged,) = records.children
    assert damaged.name == "damaged"
    assert "checksum" in damaged.value


def test_a_request_or_version_that_is_not_spoken_is_named_with_what_is() -> None:
    with pytest.raises(UnsupportedVersion, match=r"request 0 in version 99 .*PRODUCE 7.*FETCH 10"):
        decode_request(b"\0\0\0\x63\0\0\0\1\xff\xff")
