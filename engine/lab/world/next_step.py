"""The event that would run next, and the line of the engine at which it continues."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from types import CodeType
from typing import Any

from engine.lab.world.world import ScenarioWorld
from engine.runtime.lab.lab_actor import LabActor, LabTask
from engine.runtime.lab.lab_event import LabEvent

_PROJECT = PurePath(__file__).parent.parent.parent.parent
#: Folders where waiting happens; a reader wants to know the purpose of the wait.
_BELOW = ("engine/runtime/", "engine/lab/")


@dataclass(frozen=True, slots=True)
class NextStep:
    """The next event.

    :ivar due_us: virtual time at which it runs.
    :ivar file: source file relative to the project, ``engine/...``; empty when no engine code is known.
    :ivar line: the line at which the task continues; 0 when no engine code is known.
    :ivar function: the function's qualified name.
    """

    actor: str
    node: str
    label: str
    due_us: int
    file: str
    line: int
    function: str


def next_step(world: ScenarioWorld) -> NextStep | None:
    """Return the next event; None if the story is over."""
    event = world.loop.schedule.peek()
    if event is None or event.due_us > world.end_us:
        return None
    file, line, function = source_of(world, event)
    actor = event.actor
    return NextStep(
        actor.name,
        actor.node.name,
        event.label or actor.next_label or "goes on",
        max(event.due_us, world.now_us),
        file,
        line,
        function,
    )


def source_of(world: ScenarioWorld, event: LabEvent) -> tuple[str, int, str]:
    """Return file, line and function of the engine at which ``event`` continues."""
    task = _task_of(event.actor)
    if task is not None:
        return innermost_line(task)
    function = inspect.unwrap(event.callback)
    code = getattr(function, "__code__", None)
    if isinstance(code, CodeType):
        return _named(code, code.co_firstlineno)
    owner = getattr(function, "__self__", None)
    if owner is None:
        return "", 0, ""
    return _compiled_method(type(owner).__module__, type(owner).__name__, function.__name__)


@cache
def _compiled_method(module: str, class_name: str, name: str) -> tuple[str, int, str]:
    """Return the source position of a method that runs compiled (:mod:`engine.compiled`), and so has no code object."""
    file = f"{module.replace('.', '/')}.py"
    if not file.startswith("engine/"):
        return "", 0, ""
    for statement in ast.parse("".join(linecache.getlines(str(_PROJECT / file)))).body:
        if isinstance(statement, ast.ClassDef) and statement.name == class_name:
            for member in statement.body:
                if isinstance(member, ast.FunctionDef) and member.name == name:
                    line = member.decorator_list[0].lineno if member.decorator_list else member.lineno
                    return file, line, f"{class_name}.{name}"
    return "", 0, ""


def innermost_line(task: LabTask[Any]) -> tuple[str, int, str]:
    """Return where a task waits: the innermost line of engine code proper, or else of the runtime or lab."""
    found = ("", 0, "")
    for code, line in _frames(task):
        place = _named(code, line)
        if place[0] and (not place[0].startswith(_BELOW) or not found[0] or found[0].startswith(_BELOW)):
            found = place
    return found


def _frames(task: LabTask[Any]) -> Iterator[tuple[CodeType, int]]:
    """Yield (code, line) of the coroutines of a task, outermost first."""
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is not None:
            yield frame.f_code, frame.f_lineno
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _task_of(actor: LabActor) -> LabTask[Any] | None:
    for task in actor.node.tasks:
        if task.actor is actor:
            return task
    return None


def _named(code: CodeType, line: int) -> tuple[str, int, str]:
    file = _engine_file(code.co_filename)
    return (file, line, code.co_qualname) if file else ("", 0, "")


@cache
def _engine_file(path: str) -> str:
    """Return ``engine/...`` for a file of the engine; empty for any other."""
    if not PurePath(path).is_relative_to(_PROJECT / "engine"):
        return ""
    return PurePath(path).relative_to(_PROJECT).as_posix()
