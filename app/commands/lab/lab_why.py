"""``glassmq lab why``: why something happened to a message, without a page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import click

from app.commands.lab.chosen_run import linked_run
from app.foundation.option_rules import Excludes, option_rules
from app.foundation.option_types import Read, assignment, not_allowed, usage_errors
from engine.fields.assignment import read_assignment

if TYPE_CHECKING:
    from engine.lab.run.recording import Recording
    from engine.lab.scenario.scenario import Scenario
    from engine.lab.why.answer import Why, WhyAnswer

#: Each question, and its title here.
_QUESTIONS = {"lost": "Why never?", "twice": "Why twice?", "not-yet": "Why not yet?", "late": "Where did the time go?"}


_SHAPE = "MS KIND [TARGET] [FIELD=VALUE ...]"


def _timed_command(text: str) -> tuple[int, dict[str, Any]]:
    """Return the virtual milliseconds and the fields of a command, such as ``9000 lock-switch lock=broker-lock``."""
    from app.commands.tool import json_or_text

    if not re.match(r"\s*[0-9]{1,12}\s+\S", text):
        raise not_allowed(text, f"{_SHAPE}, for example 9000 crash B1")
    time_ms, kind, *words = text.split()
    target = {"target": words.pop(0)} if words and "=" not in words[0] else {}
    fields = (read_assignment(word, "FIELD=VALUE", "ms=5000") for word in words)
    return int(time_ms), {"kind": kind, **target, **{name: json_or_text(value) for name, value in fields}}


@click.command("why")
@click.argument("scenario_name", metavar="FILE|NAME")
@click.argument("key")
@click.option("--at-ms", type=click.IntRange(0), help="Ask as of that virtual time.  [default: the scenario's end]")
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The seed.  [default: the scenario's own]")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    type=assignment("NODE.SETTING=VALUE", "C1.pullBatchSize=8"),
    help="Change a setting of a node from the beginning, under our name or RocketMQ's. May be repeated.",
)
@click.option(
    "--command",
    "actions",
    type=Read(_SHAPE, _timed_command),
    multiple=True,
    help="Carry out this command at this virtual time, in addition to those of the scenario. May be repeated.",
)
@click.option("--link", help="Ask about the run of a link of the page: the link, or the part after its #.")
@click.option("--json", "as_json", is_flag=True, help="Print the answers as JSON, in both languages.")
@option_rules(
    Excludes("--link", "--at-ms", "--seed", "--set", "--command", reason="it describes the whole run"),
)
def why(
    scenario_name: str,
    key: str,
    at_ms: int | None,
    seed: int | None,
    assignments: tuple[tuple[str, str, str], ...],
    actions: tuple[tuple[int, dict[str, Any]], ...],
    link: str | None,
    as_json: bool,
) -> None:
    """Explain why a message came twice, late, not yet or never: the chain of events that caused it.

    KEY is the message's key. The scenario runs to its end, or to --at-ms. A message that has not come by then is
    searched in the next part of the run, without further commands. Exit code 1 when no such message was sent.

    \b
    Examples:
      glassmq lab why lost-offset-commit order-3
      glassmq lab why killed-owner-waits-60s order-30 --at-ms 20000
      glassmq lab why start-page ann4 --command '5650 lock-switch lock=broker-lock on=false'
      glassmq lab why early-ack-loses order-30
    """
    from app.commands.tool import load_scenario_argument
    from engine.lab.run.spread import silence_logging
    from engine.lab.why.why_run import why as why_of

    silence_logging()
    scenario = load_scenario_argument(scenario_name)
    recording = linked_run(scenario, link) if link is not None else _played(scenario, seed, assignments, actions, at_ms)
    answered = why_of(recording, key)
    if as_json:
        click.echo(json.dumps(answered.to_dict(), ensure_ascii=False))
    else:
        _report(answered, scenario)
    if not answered.answers:
        raise SystemExit(1)


def _played(
    scenario: Scenario,
    seed: int | None,
    assignments: tuple[tuple[str, str, str], ...],
    actions: tuple[tuple[int, dict[str, Any]], ...],
    at_ms: int | None,
) -> Recording:
    from app.commands.tool import json_or_text
    from engine.lab.run.run import LabRun
    from engine.lab.scenario.command import parse_command
    from engine.lab.scenario.errors import LabError

    with LabRun(scenario, seed, check=False) as run:
        for node, name, value in assignments:
            setting = {"kind": "setting", "target": node, "name": name, "value": json_or_text(value)}
            with usage_errors(LabError, option=f"--set {node}.{name}"):
                run.apply(parse_command(setting))
        for time_ms, fields in sorted(actions, key=lambda action: action[0]):
            run.run_to_time(time_ms * 1_000)
            with usage_errors(LabError, option="--command"):
                run.apply(parse_command(fields))
        run.run_to_time(run.world.end_us if at_ms is None else at_ms * 1_000)
        return run.recording()


def _report(answered: Why, scenario: Scenario) -> None:
    from engine.lab.scenario.kinds.consumer import ConsumerSpec
    from engine.lab.scenario.kinds.kafka import KafkaConsumerSpec

    click.echo(f"{answered.key} of {scenario.name}, as of {answered.time_us / 1e6:.3f} s (event {answered.event:,})")
    if not scenario.of_kind(ConsumerSpec) and not scenario.of_kind(KafkaConsumerSpec):
        click.echo("no group consumes there: only deliveries to consumers can be explained")
    elif not answered.answers:
        click.echo("no message with that key was sent before that time")
    for one in answered.answers:
        _report_one(one)


def _report_one(one: WhyAnswer) -> None:
    click.echo(f"\n{_QUESTIONS[one.question.value]} ({one.group}: {one.cause})")
    click.echo(f"  {one.verdict['en']}")
    is_ahead = False
    for step in one.steps:
        if step.is_ahead and not is_ahead:
            is_ahead = True
            click.echo("  What happens next without interference:")
        click.echo(f"  {step.time_us / 1e6:>12.3f} s  {'#' + str(step.event):>7}  {step.node:<4} {step.text['en']}")
    if one.omitted:
        click.echo(f"  {one.omitted} steps in the middle are left out")
