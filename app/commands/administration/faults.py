"""``glassmq faults``: injects faults into a running broker, shows what its rules did, and removes them, through the
page's HTTP API.

docs/operating/faults.md describes the faults; app/live/fault_routes.py answers the requests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import yaml

from app.commands.administration.default_group import ListingGroup
from app.commands.administration.frame_page import command as frame_page
from app.commands.administration.frame_scenario import command as frame_scenario
from app.commands.administration.page_access import Page, page_options
from app.commands.tool import json_or_text, print_table
from app.foundation.option_rules import Needs, OneOf, OnlyWith, option_rules
from app.foundation.option_types import Read, assignment
from app.foundation.terminal_text import body_text
from engine.faults.fault_rule import Direction, FaultAction
from engine.fields.field import Field
from engine.fields.refusal import FieldRefused
from engine.texts import plain

_ROUTE = "/api/faults"
#: Commands in one request at most: see app/live/fault_routes.py.
_AT_A_TIME = 50
_FILE_MAX_BYTES = 1024 * 1024
#: Fields of a rule, apart from the name, that select the frames.
_WHICH = ("direction", "client", "topic", "group", "key")
_COMMANDS = Field(
    "commands",
    "list",
    1,
    item=Field("command", "object"),
    says=plain("a list of commands, such as - {kind: fault, what: drop, frame: HEART_BEAT}"),
)


@click.group("faults", cls=ListingGroup)
def command() -> None:
    """Inject faults into a running broker, show what its rules did, and remove them. Without a command: list.

    The broker must be started with serve --allow-faults.

    \b
    Examples:
      glassmq faults
      glassmq faults add drop END_TRANSACTION --group bank --times 1
      glassmq faults do crash
      glassmq faults clear
    """


command.add_command(frame_page)
command.add_command(frame_scenario)

# --- queries ----------------------------------------------------------------------------------------------------------


@command.command("list")
@page_options
def list_faults(page: Page) -> None:
    """List the rules with what they did, the frames that are held, and the other active faults.

    Listing held frames keeps them waiting for 30 s more.

    \b
    Examples:
      glassmq faults list
      glassmq faults list --page http://broker-7:8000 --token secret
    """
    view = _view(page)
    if view.get("held"):
        view = page.ask("POST", f"{_ROUTE}/look")
    _show(view)


def _view(page: Page) -> dict[str, Any]:
    view: dict[str, Any] = page.ask("GET", _ROUTE)
    if "is_active" not in view:
        raise page.not_asked("that is not a page of glassmq")
    return view


def _show(view: dict[str, Any]) -> None:
    if view.get("is_allowed") is False:
        click.echo("Faults are not allowed here: this broker was not started with serve --allow-faults.")
        return
    if view.get("paused_ms"):
        click.echo(f"The engine is paused for {view['paused_ms'] / 1_000:.1f} s more: glassmq faults do resume")
        return
    if view.get("rules"):
        head = ("rule", "what", "frames", "which", "how often", "meant", "hits", "")
        print_table(head, [_rule_row(rule) for rule in view["rules"]])
    if view.get("held"):
        click.echo(f"held, for {view['lease_ms'] / 1_000:.0f} s more unless somebody looks:")
        print_table(("held", "client", "", "frame", "about", "waits", ""), [_held_row(held) for held in view["held"]])
    for line in _broken_lines(view):
        click.echo(line)
    if not view["is_active"]:
        click.echo("No faults are active.")


def _plain(text: object) -> str:
    """Return text that clients chose in a form that is safe on a terminal."""
    return body_text(str(text).encode("utf-8", "replace"))


def _rule_row(rule: dict[str, Any]) -> tuple[object, ...]:
    what = {
        FaultAction.DELAY: f"delay {rule['ms']} ms",
        FaultAction.ANSWER_LATE: f"answer {rule['ms']} ms late",
        FaultAction.REJECT: f"reject {rule['code']}",
    }.get(rule["what"], rule["what"])
    often = [
        f"next {rule['times']}" if rule["times"] else "",
        f"one in {rule['every']}" if rule["every"] > 1 else "",
        f"{rule['ratio']:.0%}, seed {rule['seed']}" if rule["ratio"] < 1 else "",
        f"for {rule['ends_in_ms'] / 1_000:.0f} s more" if rule["ends_in_ms"] else "",
    ]
    state = "spent" if rule["is_spent"] else "" if rule["hits"] else "never hit"
    return (
        rule["rule_id"],
        what,
        rule["frame"] or "any",
        _plain(", ".join(f"{name} {rule[name]}" for name in _WHICH if rule[name])) or "all",
        ", ".join(part for part in often if part) or "always",
        rule["seen"],
        rule["hits"],
        state,
    )


def _held_row(held: dict[str, Any]) -> tuple[object, ...]:
    about = [*held["topics"], *held["groups"], *held["keys"]]
    waits = f"{held['waiting_ms'] / 1_000:.1f} s"
    left_ms = None if held["timeout_ms"] is None else held["timeout_ms"] - held["waiting_ms"]
    gives_up = (
        "" if left_ms is None else f"its client gives up in {left_ms / 1_000:.1f} s" if left_ms > 0 else "given up"
    )
    return (
        held["id"],
        _plain(held["client"]),
        held["direction"],
        held["name"],
        _plain(", ".join(about)),
        waits,
        gives_up,
    )


def _broken_lines(view: dict[str, Any]) -> list[str]:
    broken = view.get("broken", {})
    said = {
        "broker_crashed": "The broker is killed: glassmq faults do restart",
        "name_server_crashed": "The name server is killed: glassmq faults do restart --target name-server",
        "disk_full": "The broker's disk is full: glassmq faults do disk-free",
        "flush_ms": f"Each flush takes {broken.get('flush_ms')} ms more: glassmq faults do slow-fsync ms=0",
        "flushes_fail": "Flushes fail: glassmq faults do fail-fsync on=true, and then crash and restart",
        "broker_lock_off": "The broker lock is off: glassmq faults do lock-switch lock=broker-lock on=true",
    }
    lines = [text for name, text in said.items() if broken.get(name)]
    if view.get("delayed_count"):
        lines.append(f"Frames that are delayed: {view['delayed_count']}")
    lines += [f"The broker lock is off for {_plain(group)}" for group in broken.get("groups_off", ())]
    if view.get("clock_ahead_ms"):
        lines.append(f"The broker's clock is {view['clock_ahead_ms'] / 1_000:g} s ahead, until glassmq serve ends")
    return lines


# --- breaking ---------------------------------------------------------------------------------------------------------


def _commands_in(path: str) -> tuple[dict[str, object], ...]:
    """Return the commands in a file."""
    try:
        if (size := Path(path).stat().st_size) > _FILE_MAX_BYTES:
            raise FieldRefused("file", f"it has {size} bytes", f"{_FILE_MAX_BYTES} bytes at most")
        with Path(path).open(encoding="utf-8") as file:
            commands = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problem = (error.strerror if isinstance(error, OSError) else None) or " ".join(str(error).split())
        raise FieldRefused("file", f"{path} cannot be read: {problem}", "a YAML file with a list of commands") from None
    read: tuple[dict[str, object], ...] = _COMMANDS.read(commands, "file")
    return read


@command.command("add")
@click.argument("what", type=click.Choice([action.value for action in FaultAction]), required=False)
@click.argument("frame", default="")
@click.option(
    "--topic", help="Only frames of this topic: an exact name, or prefix*. The next three options take the same form."
)
@click.option("--group", help="Only frames of this group.")
@click.option("--key", help="Only frames with a message of this key or unique id.")
@click.option(
    "--client", help="Only frames of the client with this id, or with this ip:port before it has sent its id."
)
@click.option(
    "--direction",
    type=click.Choice([one.value for one in Direction]),
    help="Direction of the frames, as seen from the broker.",
)
@click.option("--ms", type=click.IntRange(1), help="Duration of delay and answer-late, in ms.  [default: 1000]")
@click.option("--code", help="Response code of reject, such as SYSTEM_BUSY.  [default: SYSTEM_ERROR]")
@click.option("--times", type=click.IntRange(0), help="Act on this number of frames.  [default: unlimited]")
@click.option("--every", type=click.IntRange(1), help="Act on every Nth frame.  [default: 1]")
@click.option("--ratio", type=click.FloatRange(0, 1), help="Act on this share of the frames, 0 to 1.  [default: 1]")
@click.option(
    "--seed",
    type=click.IntRange(0),
    help="Seed for choosing the frames, and the byte that corrupt changes.  [default: 0]",
)
@click.option("--for-ms", type=click.IntRange(0), help="Act for this duration, in ms.  [default: unlimited]")
@click.option(
    "--file",
    type=Read("file", _commands_in),
    help="A YAML file with a list of lab commands, instead of WHAT and FRAME.",
)
@option_rules(OneOf("WHAT", "--file"), OnlyWith("--file", "--page", "--token", "--lang"))
@page_options
def add(page: Page, what: str | None, frame: str, file: tuple[dict[str, object], ...] | None, **fields: object) -> None:
    """Add a rule: do WHAT to frames of this name. FRAME is a request such as PULL_MESSAGE, "reply to PULL_MESSAGE", or
    nothing for any frame.

    \b
    Examples:
      glassmq faults add drop END_TRANSACTION --group bank --times 1
      glassmq faults add reject PULL_MESSAGE --code SYSTEM_BUSY --for-ms 10000
      glassmq faults add delay "reply to SEND_MESSAGE_V2" --ms 2500 --ratio 0.1 --seed 7
      glassmq faults add hold HEART_BEAT --client "172.17.0.3@*"
      glassmq faults add --file faults.yaml
    """
    given = {name: value for name, value in fields.items() if value is not None}
    broker = _broker(page)
    read = file or [{"kind": "fault", "what": what, "frame": frame, **given}]
    commands = [{"target": broker, **command} for command in read]
    for start in range(0, len(commands), _AT_A_TIME):
        page.ask("POST", _ROUTE, {"commands": commands[start : start + _AT_A_TIME]})
    _show(_view(page))


def _broker(page: Page) -> str:
    """Return the broker's name, which most commands have as their target."""
    return str(_view(page).get("broker", "broker"))


@command.command("do")
@click.argument("kind")
@click.argument("fields", nargs=-1, type=assignment("FIELD=VALUE", "ms=5000"), metavar="[FIELD=VALUE]...")
@click.option("--target", help="name-server, or a link such as 'client->broker-a'.  [default: the broker]")
@page_options
def do(page: Page, kind: str, fields: tuple[tuple[str, str], ...], target: str | None) -> None:
    """Send the running engine a command of KIND: crash, restart, pause, resume, advance, disk-full, and so on.

    docs/operating/faults.md lists them with their fields.

    \b
    Examples:
      glassmq faults do crash
      glassmq faults do restart
      glassmq faults do advance ms=120000
      glassmq faults do pause ms=5000
      glassmq faults do give-lock group=billing topic=orders queue_id=0 to=172.17.0.3@1
      glassmq faults do crash --target name-server
    """
    values = {name: json_or_text(value) for name, value in fields}
    if target is None:
        target = "" if kind.endswith("-next") or kind == "resume" else _broker(page)
    page.ask("POST", _ROUTE, {"kind": kind, "target": target, **values})
    _show(_view(page))


@command.command("clear")
@click.argument("rule", type=click.IntRange(1), required=False)
@page_options
def clear(page: Page, rule: int | None) -> None:
    """End all faults, or remove one RULE by its number. Held frames go on. A killed process is started with do restart.

    \b
    Examples:
      glassmq faults clear
      glassmq faults clear 3
    """
    _show(page.ask("DELETE", _ROUTE if rule is None else f"{_ROUTE}/{rule}"))


# --- held frames ------------------------------------------------------------------------------------------------------


@command.command("pass")
@click.argument("held", type=click.IntRange(1), required=False)
@click.option("--property", "properties", multiple=True, type=assignment(), help="Change a property of its message.")
@click.option("--field", "fields", multiple=True, type=assignment(), help="Change a field of its header.")
@click.option("--body", help="Give it another body.")
@option_rules(
    Needs("--property", "HELD"),
    Needs("--field", "HELD"),
    Needs("--body", "HELD", reason="glassmq faults list shows the numbers"),
)
@page_options
def let_pass(
    page: Page,
    held: int | None,
    properties: tuple[tuple[str, str], ...],
    fields: tuple[tuple[str, str], ...],
    body: str | None,
) -> None:
    """Let a HELD frame go on, as it is or changed; without a number all of them, and nothing is held any more.

    \b
    Examples:
      glassmq faults pass
      glassmq faults pass 4 --property KEYS=another --body "something else"
    """
    if held is None:
        return _show(page.ask("POST", f"{_ROUTE}/held", {"action": "pass"}))
    changes = {"fields": dict(fields), "properties": dict(properties), "body": body}
    _show(page.ask("POST", f"{_ROUTE}/held/{held}", {"action": "pass", **changes}))


@command.command("drop")
@click.argument("held", type=click.IntRange(1))
@page_options
def drop(page: Page, held: int) -> None:
    """Drop a HELD frame.

    \b
    Examples:
      glassmq faults drop 4
    """
    _show(page.ask("POST", f"{_ROUTE}/held/{held}", {"action": "drop"}))
