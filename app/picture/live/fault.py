"""Faults of the live engine, and the frames that they hold or record."""

from __future__ import annotations

from typing import TypedDict

from app.picture.world.world import Words


class LiveFaultRule(TypedDict):
    """A rule: see ``engine.faults.fault_rule``."""

    what: str
    frame: str
    direction: str
    client: str
    topic: str
    group: str
    key: str
    ms: int
    code: str
    times: int
    every: int
    ratio: float
    seed: int
    for_ms: int
    rule_id: int
    made_us: int
    #: How many frames matched.
    seen: int
    #: On how many it acted.
    hits: int
    #: It will not act any more.
    is_spent: bool
    #: None: it has no end.
    ends_in_ms: int | None


class FaultHit(TypedDict):
    """A frame on which a rule acted."""

    at_us: int
    rule: int
    what: str
    client: str
    #: Its short name; empty if it has none.
    client_name: str
    direction: str
    #: Its name.
    frame: str


class HeldFrame(TypedDict):
    """A frame that waits for a decision."""

    id: int
    #: The rule that holds it.
    rule: int
    #: Its sender, or the client that it goes to.
    client: str
    #: Its short name; empty if it has none.
    client_name: str
    direction: str
    name: str
    #: What it does, by language.
    meaning: Words
    topics: list[str]
    groups: list[str]
    keys: list[str]
    waiting_ms: int
    #: How long its client waits for an answer; None: it does not wait.
    timeout_ms: int | None
    opaque: int
    code: int
    is_oneway: bool
    remark: str | None
    header: dict[str, str]
    #: Of a message that it sends; else None.
    properties: dict[str, str] | None
    #: The beginning, like the next.
    body: str
    body_hex: str
    body_bytes: int
    frame_bytes: int


class BrokenMachines(TypedDict):
    """The faults of the machines."""

    broker_crashed: bool
    name_server_crashed: bool
    disk_full: bool
    flush_ms: int
    flushes_fail: bool
    broker_lock_off: bool
    #: Groups without the broker's lock.
    groups_off: list[str]


class FrameRecordState(TypedDict):
    """What is recorded."""

    client: str
    bodies: bool
    count: int
    started_us: int


class FrameRecordNow(FrameRecordState):
    """The same, while the engine runs."""

    is_on: bool


class ActiveFaults(TypedDict):
    """The active faults."""

    is_active: bool
    now_us: int
    #: Its name.
    broker: str
    clock_ahead_ms: int
    broken: BrokenMachines
    #: When it was killed; None: it runs.
    broker_crashed_us: int | None
    rules: list[LiveFaultRule]
    #: The newest first.
    hits: list[FaultHit]
    #: Those that came first.
    held: list[HeldFrame]
    held_count: int
    delayed_count: int
    #: How much longer the held frames wait unless they are viewed.
    lease_ms: int | None
    recording: FrameRecordNow | None


class AllowedFaults(ActiveFaults):
    """The active faults, and that they are allowed."""

    is_allowed: bool


class PausedEngine(TypedDict):
    """All that is known while the engine is paused."""

    is_allowed: bool
    is_active: bool
    paused_ms: int


class NoFaults(TypedDict):
    """The answer of a server that allows no faults."""

    is_allowed: bool
    is_active: bool
