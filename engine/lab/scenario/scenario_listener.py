"""Parsing of ``listener:`` and ``work:`` of a consumer."""

from __future__ import annotations

import dataclasses

from engine.lab.scenario.listener_spec import (
    HAND_OVER_MAX,
    BatchAck,
    ListenerResult,
    ListenerSpec,
    MoveAsideSpec,
)
from engine.lab.scenario.scenario_names import DELAY_LEVEL_MAX, MESSAGES_MAX, TIME_MAX_MS, parse_topic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.work.reservations import ReservationEvent
from engine.lab.work.work_spec import CALLS, ORDER_AND_STOCK, WITH_SERVICE, StepKind, WorkSpec, WorkStep

#: Results that only an orderly listener can return.
_ORDERLY_RESULTS = (ListenerResult.SUSPEND, ListenerResult.COMMIT, ListenerResult.ROLLBACK)


def parse_listener(section: Section, *, orderly: bool) -> ListenerSpec:
    """Parse the behaviour of a listener."""
    results = [result.value for result in ListenerResult if orderly or result not in _ORDERLY_RESULTS]
    by_key = section.section("fails_by_key")
    listener = ListenerSpec(
        duration_ms=section.integer("duration_ms", 0, TIME_MAX_MS, 10),
        result=ListenerResult(section.choice("result", results, "success")),
        fails_first=section.optional_integer("fails_first", 0, 1_000),
        only_keys=section.words("only_keys", max_count=100),
        fails_by_key=() if by_key is None else tuple((key, by_key.integer(key, 0, 1_000)) for key in by_key.names()),
        each_ms=section.integer("each_ms", 0, TIME_MAX_MS, 0),
        batch_ack=section.word("batch_ack", BatchAck.WHOLE),
    )
    if orderly and listener.batch_ack is BatchAck.PER_MESSAGE:
        raise section.fail("batch_ack", "per-message is not allowed with orderly: its context has no ackIndex")
    if orderly:
        listener = dataclasses.replace(
            listener,
            commit_every=section.optional_integer("commit_every", 1, 1_000),
            suspend_ms=section.optional_integer("suspend_ms", 0, TIME_MAX_MS),
        )
    else:
        listener = dataclasses.replace(
            listener,
            ack_index=section.optional_integer("ack_index", -1, 1_023),
            delay_level=section.integer("delay_level", -1, DELAY_LEVEL_MAX, 0),
        )
        if listener.ack_index is not None and listener.batch_ack is not BatchAck.WHOLE:
            raise section.fail("ack_index", f"is not allowed with batch_ack: {listener.batch_ack}, which sets it")
    return dataclasses.replace(
        listener,
        hand_over=section.switch("hand_over", default=False),
        hand_over_ms=section.integer("hand_over_ms", 0, TIME_MAX_MS, listener.hand_over_ms),
        hand_over_max=section.integer("hand_over_max", 1, HAND_OVER_MAX, HAND_OVER_MAX),
        move_aside=section.part("move_aside", _move_aside),
        reply=section.text("reply", "", max_length=4_000),
        drops_expired=section.switch("drops_expired", default=False),
    )


def _move_aside(section: Section) -> MoveAsideSpec:
    spec = MoveAsideSpec(
        topic=parse_topic(section),
        only_tags=section.words("only_tags", max_count=20),
        above=section.integer("above", 0, MESSAGES_MAX, 100),
    )
    if not spec.only_tags:
        raise section.fail("only_tags", "is missing: which messages may be moved aside?")
    return spec


def parse_work(section: Section) -> WorkSpec:
    """Parse the work of a listener."""
    database = section.text("database", max_length=20)
    words = section.words("steps", max_count=20)
    steps = tuple(_work_step(section, word) for word in words) or ORDER_AND_STOCK
    undo = section.section("undo")
    return WorkSpec(
        database=database,
        records=section.text("records", database, max_length=20),
        steps=steps if undo is None else _with_undo(undo, steps),
        then=parse_topic(section, "then") if section.has("then") else "",
    )


def _work_step(section: Section, word: str) -> WorkStep:
    kind, *rest = word.split(":")
    if kind in CALLS and len(rest) == 2 and all(rest):
        return WorkStep(StepKind(kind), *rest)
    if kind == StepKind.RESERVE and len(rest) == 1 and all(rest):
        return WorkStep(StepKind.RESERVE, rest[0], ReservationEvent.CONFIRM.value)
    plain = [one.value for one in StepKind if one not in WITH_SERVICE]
    if rest or kind not in plain:
        with_service = (*(f"{one}:SERVICE:OPERATION" for one in CALLS), f"{StepKind.RESERVE}:SERVICE")
        allowed = ", ".join((*plain, *with_service))
        raise section.fail("steps", f"{word!r} is not allowed; allowed: {allowed}")
    return WorkStep(StepKind(kind))


def _with_undo(undo: Section, steps: tuple[WorkStep, ...]) -> tuple[WorkStep, ...]:
    """Add ``undo``: called operations, and the operation that takes each back."""
    known = [one.operation for one in steps if one.kind is StepKind.CALL]
    for name in undo.names():
        if name not in known:
            allowed = ", ".join(known) or "there is none"
            raise undo.fail(name, f"is not an operation that the steps call; allowed: {allowed}")
    operations = {name: undo.text(name, max_length=60) for name in undo.names()}
    undo.finish()
    return tuple(
        dataclasses.replace(one, undo=operations.get(one.operation, "")) if one.kind is StepKind.CALL else one
        for one in steps
    )
