"""Parsing of ``listener:`` and ``work:`` of a consumer."""

from __future__ import annotations

import dataclasses

from engine.lab.scenario.listener_spec import BatchAck, ListenerResult, ListenerSpec
from engine.lab.scenario.scenario_names import parse_topic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import read_spec
from engine.lab.work.reservations import ReservationEvent
from engine.lab.work.work_spec import CALLS, ORDER_AND_STOCK, WITH_SERVICE, StepKind, WorkSpec, WorkStep

#: Results that only an orderly listener can return.
_ORDERLY_RESULTS = (ListenerResult.SUSPEND, ListenerResult.COMMIT, ListenerResult.ROLLBACK)


def parse_listener(section: Section, *, orderly: bool) -> ListenerSpec:
    """Parse the behaviour of a listener."""
    results = [result.value for result in ListenerResult if orderly or result not in _ORDERLY_RESULTS]
    of_the_other: dict[str, int | None] = (
        {"ack_index": None, "delay_level": 0} if orderly else {"commit_every": None, "suspend_ms": None}
    )
    result = ListenerResult(section.choice("result", results, "success"))
    listener = read_spec(ListenerSpec, section, result=result, **of_the_other)
    if orderly and listener.batch_ack is BatchAck.PER_MESSAGE:
        raise section.fail("batch_ack", "per-message is not allowed with orderly: its context has no ackIndex")
    if listener.ack_index is not None and listener.batch_ack is not BatchAck.WHOLE:
        raise section.fail("ack_index", f"is not allowed with batch_ack: {listener.batch_ack}, which sets it")
    return listener


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
