"""Reads ``steps.yaml``: the targets, predictions, actions and conditions of a lesson's steps.

minutes: 10
begin_ms: 1900
steps:
  - id: route
    point_at: [routes N1, node B1]
    predict: {kind: number, answer: "count(nodes.B1.topics.Greetings.queues)", unit: {en: queues, zh: 个队列}}
    action:
      - {control: run-until, on: sent, node: P1}
    done_when: count(history.sent) >= 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from app.foundation.json_types import JsonValue
from app.lessons.errors import ExpressionError, LessonError
from app.lessons.expression import LENGTH_MAX, LessonExpression
from app.lessons.lesson import ChoicePrediction, ClickPrediction, LessonStep, NumberPrediction, Prediction
from app.lessons.stage_targets import StageTarget, WrongTarget, parse_target
from engine.lab.checkers import CHECKERS
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.condition import ConditionKind
from engine.lab.scenario.errors import CommandRefused, ScenarioError
from engine.lab.scenario.scenario import LANGUAGES, Scenario
from engine.lab.scenario.scenario_yaml import Section, read_yaml

STEPS_MAX = 20
ACTIONS_MAX = 10
TARGETS_MAX = 5
CHOICES_MAX = 6
SAYS_MAX = 10
_IDENTITY_MAX = 40

#: The controls that a step may use: those that go forward and end by themselves.
CONTROLS = ("run-until", "step", "step-actor")


@dataclass(frozen=True, slots=True)
class StepsFile:
    """The whole file."""

    minutes: int
    begin_ms: int
    steps: tuple[LessonStep, ...]


def read_steps(text: str, file: str, scenario: Scenario) -> StepsFile:
    """Read the file. Raises :class:`LessonError` with file, line, field and what is allowed."""
    try:
        root = read_yaml(text)
        minutes = root.integer("minutes", 1, 60)
        begin_ms = root.integer("begin_ms", 0, scenario.duration_ms, default=0)
        steps = tuple(_step(section, scenario) for section in root.sections("steps", max_count=STEPS_MAX))
        if not steps:
            raise root.fail("steps", "is missing: a lesson has at least one step")
        root.finish()
        seen: dict[str, None] = {}
        for step, section in zip(steps, root.sections("steps"), strict=True):
            if step.identity in seen:
                raise section.fail("id", f"{step.identity!r} occurs twice")
            seen[step.identity] = None
    except ScenarioError as error:
        raise LessonError.of(file, error) from error
    return StepsFile(minutes, begin_ms, steps)


def _step(section: Section, scenario: Scenario) -> LessonStep:
    step = LessonStep(
        identity=section.text("id", max_length=_IDENTITY_MAX),
        point_at=tuple(
            _target(section, "point_at", word, scenario) for word in section.words("point_at", max_count=TARGETS_MAX)
        ),
        prediction=_prediction(section.section("predict"), scenario),
        actions=tuple(_action(action) for action in section.sections("action", max_count=ACTIONS_MAX)),
        done_when=_expression(section, "done_when") if section.has("done_when") else None,
        breaks=section.words("breaks", max_count=len(CHECKERS)),
        says=tuple(_parsed(section, "says", text) for text in section.words("says", max_count=SAYS_MAX)),
    )
    for name in step.breaks:
        if name not in CHECKERS:
            raise section.fail("breaks", f"{name!r} is not an invariant; allowed: {', '.join(CHECKERS)}")
    section.finish()
    if step.actions and step.done_when is None:
        raise section.fail("done_when", "is missing: a step with an action says what must be true afterwards")
    if step.done_when is not None and not step.actions:
        raise section.fail("action", "is missing: a step that waits for something says what its button does")
    return step


def _expression(section: Section, field: str) -> LessonExpression:
    return _parsed(section, field, section.text(field, max_length=LENGTH_MAX))


def _parsed(section: Section, field: str, text: str) -> LessonExpression:
    from app.lessons.expression_parser import parse_expression

    try:
        return parse_expression(text)
    except ExpressionError as error:
        raise section.fail(field, str(error)) from error


def _target(section: Section, field: str, text: str, scenario: Scenario) -> StageTarget:
    try:
        return parse_target(text, scenario)
    except WrongTarget as error:
        raise section.fail(field, str(error)) from error


# ------------------------------------------------------------------------------------------------- predictions


def _prediction(section: Section | None, scenario: Scenario) -> Prediction | None:
    if section is None:
        return None
    prediction: Prediction
    match section.choice("kind", ("choice", "number", "click")):
        case "choice":
            prediction = ChoicePrediction(_claims(section, "choices"))
        case "number":
            prediction = NumberPrediction(_expression(section, "answer"), _unit(section.section("unit")))
        case _:
            claims = _claims(section, "targets")
            prediction = ClickPrediction(
                {_target(section, "targets", text, scenario): claim for text, claim in claims.items()}
            )
    section.finish()
    return prediction


def _claims(section: Section, field: str) -> Mapping[str, LessonExpression]:
    claims = section.section(field)
    names = [] if claims is None else list(claims.names())
    if claims is None or not 2 <= len(names) <= CHOICES_MAX:
        raise section.fail(field, f"has {len(names)} entries; allowed: 2 to {CHOICES_MAX}")
    return {name: _expression(claims, name) for name in names}


def _unit(section: Section | None) -> Mapping[str, str] | None:
    if section is None:
        return None
    unit = {language: section.text(language, max_length=40) for language in LANGUAGES}
    section.finish()
    return unit


# ------------------------------------------------------------------------------------------------- actions


def _action(section: Section) -> dict[str, JsonValue]:
    """Return a control or a command as the page sends it, with ``control`` or ``command`` for its name."""
    if section.has("command"):
        fields: dict[str, JsonValue] = {
            name: cast("JsonValue", section.any_value(name)) for name in section.names() if section.has(name)
        }
        kind = fields.pop("command")
        try:
            parse_command({"kind": kind, **fields})
        except CommandRefused as error:
            raise section.fail("command", str(error)) from error
        if kind == "setting":
            raise section.fail("command", "a setting begins another run: put it into the lesson's scenario")
        return {"command": kind, **fields}
    action: dict[str, JsonValue] = {"control": section.choice("control", CONTROLS)}
    if action["control"] == "run-until":
        action["on"] = section.choice("on", [kind.value for kind in ConditionKind])
        for field in ("node", "contains"):
            if section.has(field):
                action[field] = section.text(field, max_length=80)
        if action["on"] == ConditionKind.TIME:
            action["time_us"] = section.integer("time_us", 0, 86_400_000_000)
    elif action["control"] == "step-actor":
        action["actor"] = section.text("actor", max_length=80)
    section.finish()
    return action
