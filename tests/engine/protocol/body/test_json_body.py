"""Bodies that are declared: what their fields become on the wire, and how they are read."""

from __future__ import annotations

import threading
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass
from enum import Enum, StrEnum
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from engine.protocol.body import admin_bodies, bodies, heartbeat_data, json_body
from engine.protocol.body.json_body import JsonBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.errors import MalformedBody


class Colour(StrEnum):
    RED = "RED"
    BLUE = "BLUE"


@dataclass(slots=True)
class Part(JsonBody, wire_names={"size_bytes": "bodySize"}):
    size_bytes: int
    colour: Colour = Colour.RED


@dataclass(frozen=True, slots=True)
class Whole(JsonBody, what="a whole", items_max={"names": 2}):
    group_name: str
    parts: tuple[Part, ...]
    by_name: dict[str, Part]
    names: tuple[str, ...] = ()
    remark: str | None = None
    is_open: bool = False
    constant: tuple[str, ...] = field(default=(), init=False)


WHOLE = Whole("g", (Part(1), Part(2, Colour.BLUE)), {"a": Part(3)}, ("x",))
TEXT = (
    b'{"byName":{"a":{"bodySize":3,"colour":"RED"}},"constant":[],"groupName":"g","isOpen":false,"names":["x"],'
    b'"parts":[{"bodySize":1,"colour":"RED"},{"bodySize":2,"colour":"BLUE"}]}'
)


def test_fields_are_written_in_camel_case_or_under_their_own_name_and_none_is_left_out() -> None:
    assert WHOLE.to_json() == TEXT


def test_what_was_written_is_read() -> None:
    assert Whole.from_json(TEXT) == WHOLE


def test_a_field_with_a_default_may_be_missing_and_constants_may_come_as_numbers() -> None:
    body = Whole.from_json(b'{"groupName":"g","parts":[{"bodySize":"7","colour":1}],"remark":"","constant":5}')
    assert body == Whole("g", (Part(7, Colour.BLUE),), {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[]", "a whole must be a JSON object"),
        (b"{}", "'groupName' is missing"),
        (b'{"groupName":"g","names":["a","b","c"]}', "3 items; allowed: 2"),
        (b'{"groupName":"g","parts":[1]}', "an object is expected"),
        (b'{"groupName":"g","parts":[{}]}', "'bodySize' is missing"),
        (b'{"groupName":"g","parts":[{"bodySize":1,"colour":"GREEN"}]}', "allowed: RED, BLUE"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(text: bytes, why: str) -> None:
    with pytest.raises(MalformedBody, match=why):
        Whole.from_json(text)


def test_maps_by_queue_have_objects_as_keys_in_the_order_of_the_queues() -> None:
    @dataclass
    class Table(JsonBody):
        table: dict[MessageQueue, int]

    text = Table({MessageQueue("T", "b", 1): 8, MessageQueue("T", "a", 0): 7}).to_json()
    assert text == (
        b'{"table":{{"brokerName":"a","queueId":0,"topic":"T"}:7,{"brokerName":"b","queueId":1,"topic":"T"}:8}}'
    )


def test_a_thread_that_writes_while_another_finds_out_how_writes_every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Pair(JsonBody):
        left: int
        right: int

    half_way, go_on = threading.Event(), threading.Event()
    find_wire_name = json_body._wire_name

    def slow_wire_name(kind: type[JsonBody], name: str) -> str:
        if name == "right" and threading.current_thread() is not threading.main_thread():
            half_way.set()
            assert go_on.wait(10)
        return find_wire_name(kind, name)

    monkeypatch.setattr(json_body, "_wire_name", slow_wire_name)
    other = threading.Thread(target=Pair(1, 2).to_json)
    other.start()
    assert half_way.wait(10)
    try:
        assert Pair(3, 4).to_json() == b'{"left":3,"right":4}'
    finally:
        go_on.set()
        other.join()


@dataclass(frozen=True, slots=True)
class Stone(JsonBody, what="a stone", is_unchangeable=True):
    names: tuple[str, ...] = ()


def test_equal_bytes_of_an_unchangeable_body_are_read_once() -> None:
    body = b'{"names":["read once"]}'
    assert Stone.from_json(bytes(bytearray(body))) is Stone.from_json(body)
    assert Stone.from_json(b'{"names":["other"]}') == Stone(("other",))
    assert Whole.from_json(TEXT) is not Whole.from_json(TEXT)


def test_a_body_too_long_to_be_remembered_is_read_each_time() -> None:
    body = Stone(("x" * json_body._REMEMBERED_BYTES_MAX,)).to_json()
    assert Stone.from_json(body) == Stone.from_json(body)
    assert Stone.from_json(body) is not Stone.from_json(body)


def test_the_same_bytes_are_read_as_the_kind_that_was_asked_for() -> None:
    body = b'{"consumerIdList":[],"lockOKMQSet":[]}'
    assert bodies.LockBatchResponseBody.from_json(body) == bodies.LockBatchResponseBody(())
    assert bodies.GetConsumerListByGroupResponseBody.from_json(body) == bodies.GetConsumerListByGroupResponseBody(())


def test_an_unreadable_body_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(MalformedBody, match="a stone must be a JSON object"):
            Stone.from_json(b"[]")


def _can_change(annotation: Any) -> bool:
    """Whether a value of that type may ever be another one: all who read a remembered body share it."""
    if get_origin(annotation) is tuple:
        item, rest = get_args(annotation)
        return rest is not ... or _can_change(item)
    if not isinstance(annotation, type):
        return True
    if issubclass(annotation, str | int | bool | Enum):
        return False
    if not is_dataclass(annotation) or not annotation.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return True
    hints = get_type_hints(annotation)
    return any(_can_change(hints[one.name]) for one in fields(annotation))


def test_what_is_called_unchangeable_is_so_all_through() -> None:
    kinds = [kind for module in (admin_bodies, bodies, heartbeat_data) for kind in vars(module).values()]
    shared = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, JsonBody) and kind._is_unchangeable]
    assert heartbeat_data.HeartbeatData in shared
    assert [kind for kind in (*shared, Stone) if _can_change(kind)] == []
    assert _can_change(Whole), "it has a map, and parts that can change"
    with pytest.raises(FrozenInstanceError):
        Stone.from_json(b"{}").names = ("changed",)  # type: ignore[misc]
