"""The work of a message, step by step, and how work that fails takes back what it has called."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.idempotence.foundation.errors import StoreUnreachable
from engine.idempotence.foundation.sql_port import SqlResult
from engine.lab.work.message_work import ScenarioWork, WorkFailed
from engine.lab.work.work_spec import StepKind, WorkStep

LOCK = WorkStep(StepKind.CALL, "S1", "lock", "unlock")
LETTER = WorkStep(StepKind.CALL, "S1", "letter")
RESERVE = WorkStep(StepKind.CALL, "S2", "reserve", "cancel")
ASK = WorkStep(StepKind.ASK, "S1", "look")
PAY = WorkStep(StepKind.PAY)


class Said:
    """A database and services that note what they are asked."""

    def __init__(self, unreachable: str = "") -> None:
        self.unreachable = unreachable
        self.actions: list[str] = []

    async def execute(self, statement: str, parameters: Any = None) -> SqlResult:
        self.actions.append(statement.split(maxsplit=1)[0])
        return SqlResult((), 1)

    async def call(self, operation: str, key: str, undoes: str = "", *, changes: bool = True) -> int:
        self.actions.append(f"{operation}{f' for {undoes}' if undoes else ''}{'' if changes else '?'}")
        if operation == self.unreachable:
            raise StoreUnreachable(operation)
        return 1


def do(said: Said, *steps: WorkStep, **options: Any) -> list[str]:
    work = ScenarioWork("C1", said, {"S1": said, "S2": said}, steps)  # type: ignore[arg-type, dict-item]
    asyncio.run(work.do("order-1", "none", None, 0, **options))
    return said.actions


def test_work_that_succeeds_takes_nothing_back():
    assert do(Said(), ASK, LOCK, RESERVE, PAY) == ["look?", "lock", "reserve", "UPDATE", "INSERT"]


def test_work_that_fails_takes_its_calls_back_the_last_one_first_and_no_others():
    said = Said()
    with pytest.raises(WorkFailed):
        do(said, ASK, LOCK, LETTER, RESERVE, PAY, failure=WorkFailed())
    assert said.actions == ["look?", "lock", "letter", "reserve", "cancel for reserve", "unlock for lock"]


def test_a_call_without_an_answer_may_have_been_carried_out_and_is_taken_back():
    said = Said(unreachable="reserve")
    with pytest.raises(StoreUnreachable):
        do(said, LOCK, RESERVE, PAY)
    assert said.actions == ["lock", "reserve", "cancel for reserve", "unlock for lock"]


def test_where_it_is_switched_off_nothing_is_taken_back():
    said = Said()
    with pytest.raises(WorkFailed):
        do(said, LOCK, PAY, failure=WorkFailed(), undoes_calls=False)
    assert said.actions == ["lock"]
