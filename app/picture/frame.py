"""A frame on its way between two nodes of a world, or between a client and the live broker."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Frame(TypedDict):
    """One frame."""

    #: In the order of sending, from 1.
    id: int
    source: str
    target: str
    #: "request", "response", or another kind of parcel.
    kind: str
    #: None without one.
    code: int | None
    name: str
    #: What it does, in a word; empty where the name says it.
    action: NotRequired[str]
    is_oneway: bool
    #: ``id`` of the request that it answers; None: it is a request, or its request is not kept.
    reply_to: int | None
    reply_to_name: NotRequired[str | None]
    size_bytes: int
    sent_us: int
    #: Of the first copy.
    arrives_us: int
    dropped: bool
    #: How far it comes if it is dropped: 0 to 1.
    lost_share: NotRequired[float]
    copies: int


class FrameTreeField(TypedDict):
    """A field of a frame with its bytes."""

    name: str
    value: str
    #: In the frame's bytes; -1: it was compressed and has none.
    position: int
    #: In bytes.
    length: int
    children: list[FrameTreeField]
    #: How many children are left out.
    omitted: int


class FrameBytes(Frame):
    """A frame with its bytes."""

    #: The beginning.
    hex: str
    hex_omitted_bytes: int
    #: Of the header of a command: name -> value.
    fields: dict[str, str]
    #: Why it cannot be decoded.
    problem: str | None


class CommandPart(TypedDict):
    """Header and body of a command of RocketMQ."""

    opaque: int
    flag: int
    language: int
    version: int
    remark: str | None
    serialize_type: str
    fields: dict[str, str]
    #: Positions in the frame's bytes.
    header_start: int
    body_start: int
    body_bytes: int
    #: Its beginning.
    body_text: str


class CommandFrame(FrameBytes, CommandPart):
    """A frame of RocketMQ."""


class ReplicaFrame(FrameBytes):
    """A frame between replicas."""

    tree: list[FrameTreeField]


class KafkaFrameHead(FrameBytes):
    """A frame of Kafka that cannot be decoded further."""

    correlation_id: int


class KafkaFrame(KafkaFrameHead):
    """A frame of Kafka."""

    tree: list[FrameTreeField]


#: Everything about a frame.
FrameDetail = FrameBytes | CommandFrame | ReplicaFrame | KafkaFrameHead | KafkaFrame
