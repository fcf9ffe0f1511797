"""A run as data: an exported file, or a link that fits into a message.

A run is a function of scenario, seed and commands, so that is all a recording holds, and how far the run had come.
Both come from anybody: everything in them is checked and bounded.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.lab.command import Command, parse_command
from engine.lab.errors import CommandRefused, RecordingRefused, UnknownScenario
from engine.lab.scenario import Scenario
from engine.lab.scenario_files import load_scenario, scenario_text
from engine.lab.scenario_text import DURATION_MAX_MS, SEED_MAX, parse_scenario

if TYPE_CHECKING:
    from engine.lab.run import LabRun

FORMAT = "glassmq-lab-run"
VERSION = 1

#: Bounds of one run.
EVENTS_MAX = 500_000
COMMANDS_MAX = 500

#: Bounds of a link: as long as browsers and chat programs take it, and what it may unpack to.
LINK_MAX_CHARACTERS = 60_000
LINK_UNPACKED_MAX_BYTES = 500_000

NAME_MAX_LENGTH = 60


class TimedCommand(NamedTuple):
    """A command right after event ``event`` (so before ``event + 1``), at virtual time ``time_us``."""

    event: int
    time_us: int
    command: Command


@dataclass(frozen=True, slots=True)
class Recording:
    """See the module.

    :ivar event: number of the last event that had run, and the virtual time then.
    :ivar journal_hash: of the recorded run at that point; empty in a link.
    :ivar is_changed: the scenario of this name has another text now than when the link was made: events may differ.
    """

    scenario: Scenario
    seed: int
    commands: tuple[TimedCommand, ...]
    event: int
    time_us: int
    journal_hash: str = ""
    python: str = ""
    is_changed: bool = False


def python_version() -> str:
    """``3.11``: another version of asyncio may need another number of events for the same."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


# --- file ----------------------------------------------------------------------------------------------------------


def export_run(run: LabRun) -> dict[str, Any]:
    """``run`` as a JSON object; :func:`parse_export` reads it back."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "python": python_version(),
        "scenario": run.scenario.name,
        "text": run.scenario.text,
        "seed": run.seed,
        "commands": [
            {"event": timed.event, "time_us": timed.time_us, "command": timed.command.to_dict()}
            for timed in run.commands
        ],
        "event": run.event_number,
        "time_us": run.now_us,
        "journal_hash": run.journal_hash,
    }


def parse_export(data: object) -> Recording:
    """Raises :class:`RecordingRefused` and, for its text, :class:`~engine.lab.errors.ScenarioError`."""
    fields = _object(data, "an exported run")
    if fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise RecordingRefused(f"this is no exported run: format must be {FORMAT!r} and version {VERSION}")
    name = _text(fields, "scenario", NAME_MAX_LENGTH)
    commands = fields.get("commands")
    if not isinstance(commands, list):
        raise RecordingRefused("commands must be a list")
    timed = []
    for entry in commands:
        part = _object(entry, "an entry of commands")
        timed.append((part.get("event"), part.get("time_us"), part.get("command")))
    return Recording(
        scenario=parse_scenario(_text(fields, "text", 200_000), name),
        seed=_integer(fields.get("seed"), "seed", SEED_MAX),
        commands=_timed_commands(timed),
        event=_integer(fields.get("event"), "event", EVENTS_MAX),
        time_us=_integer(fields.get("time_us"), "time_us", DURATION_MAX_MS * 1_000),
        journal_hash=_text(fields, "journal_hash", 64),
        python=_text(fields, "python", 20),
    )


# --- link ----------------------------------------------------------------------------------------------------------


def link_of(run: LabRun) -> str:
    """The part of an address behind ``#``: letters, digits, ``-`` and ``_``. :func:`parse_link` reads it back.

    A scenario that comes with GlassMQ is named, any other one travels along.
    """
    scenario = run.scenario
    content: dict[str, Any] = {"s": scenario.name, "n": run.seed, "e": run.event_number, "t": run.now_us}
    if _is_shipped(scenario):
        content["d"] = _digest(scenario.text)
    else:
        content["x"] = scenario.text
    content["c"] = [[timed.event, timed.time_us, timed.command.to_dict()] for timed in run.commands]
    packed = zlib.compress(json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode(), 9)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def parse_link(fragment: str) -> Recording:
    """Raises :class:`RecordingRefused`, ``UnknownScenario``, ``ScenarioError``."""
    fields = _object(_unpack(fragment), "the content of a link")
    name = _text(fields, "s", NAME_MAX_LENGTH)
    if "x" in fields:
        scenario, is_changed = parse_scenario(_text(fields, "x", 200_000), name), False
    else:
        scenario = load_scenario(name)
        is_changed = fields.get("d") != _digest(scenario.text)
    commands = fields.get("c")
    if not isinstance(commands, list):
        raise RecordingRefused("the link has no list of commands")
    timed = []
    for entry in commands:
        if not isinstance(entry, list) or len(entry) != 3:
            raise RecordingRefused("a command of the link is not [event, time, command]")
        timed.append((entry[0], entry[1], entry[2]))
    return Recording(
        scenario=scenario,
        seed=_integer(fields.get("n"), "seed", SEED_MAX),
        commands=_timed_commands(timed),
        event=_integer(fields.get("e"), "event", EVENTS_MAX),
        time_us=_integer(fields.get("t"), "time_us", DURATION_MAX_MS * 1_000),
        is_changed=is_changed,
    )


def _unpack(fragment: str) -> object:
    if len(fragment) > LINK_MAX_CHARACTERS:
        raise RecordingRefused(f"the link has {len(fragment)} characters; allowed: {LINK_MAX_CHARACTERS}")
    try:
        packed = base64.b64decode(fragment + "=" * (-len(fragment) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, LINK_UNPACKED_MAX_BYTES)
        if not unpacker.eof:
            raise RecordingRefused("the link is cut off, or unpacks to more than is allowed")
        return json.loads(content)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise RecordingRefused(f"the link cannot be read, perhaps a part of it is missing: {error}") from error


def _is_shipped(scenario: Scenario) -> bool:
    try:
        return scenario_text(scenario.name) == scenario.text
    except UnknownScenario:
        return False


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# --- checks --------------------------------------------------------------------------------------------------------


def _timed_commands(entries: Sequence[tuple[object, object, object]]) -> tuple[TimedCommand, ...]:
    if len(entries) > COMMANDS_MAX:
        raise RecordingRefused(f"the run has {len(entries)} commands; allowed: {COMMANDS_MAX}")
    timed: list[TimedCommand] = []
    for number, (event, time_us, command) in enumerate(entries, 1):
        try:
            parsed = parse_command(command)
        except CommandRefused as error:
            raise RecordingRefused(f"command {number}: {error}") from error
        entry = TimedCommand(
            _integer(event, f"event of command {number}", EVENTS_MAX),
            _integer(time_us, f"time_us of command {number}", DURATION_MAX_MS * 1_000),
            parsed,
        )
        if timed and entry[:2] < timed[-1][:2]:
            raise RecordingRefused(f"command {number} comes before command {number - 1}: they must be in order")
        timed.append(entry)
    return tuple(timed)


def _object(data: object, what: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise RecordingRefused(f"{what} must be a JSON object, got {data!r:.60}")
    return data


def _text(fields: Mapping[str, Any], name: str, max_length: int) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > max_length:
        raise RecordingRefused(f"{name} must be a text of at most {max_length} characters, got {value!r:.60}")
    return value


def _integer(value: object, name: str, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= high:
        raise RecordingRefused(f"{name} must be a whole number from 0 to {high}, got {value!r:.60}")
    return value
