"""A run as data: an exported file, or a link that fits into a message.

A run is a function of scenario, seed and commands, so a recording holds only these, and how far the run had come. Both
forms come from untrusted sources: everything in them is checked and bounded.
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
from functools import lru_cache
from typing import Any, NamedTuple

from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused, RecordingRefused, UnknownScenario
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.scenario.scenario_files import NAME_MAX_LENGTH, check_scenario_name, load_scenario, scenario_text
from engine.lab.scenario.scenario_text import DURATION_MAX_MS, SEED_MAX, parse_scenario
from engine.lab.scenario.scenario_yaml import TEXT_MAX_CHARACTERS
from engine.texts import Text

FORMAT = "glassmq-lab-run"
VERSION = 1

#: Bounds of one run.
EVENTS_MAX = 500_000
COMMANDS_MAX = 500

#: Bounds of a link: as long as browsers and chat programs accept it, and its decompressed size.
LINK_MAX_CHARACTERS = 60_000
LINK_UNPACKED_MAX_BYTES = 500_000


class TimedCommand(NamedTuple):
    """A command directly after event ``event`` (so before ``event + 1``), at virtual time ``time_us``."""

    event: int
    time_us: int
    command: Command


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording of a run.

    :ivar event: number of the last event that had run, and the virtual time then.
    :ivar journal_hash: hash of the recorded run at that point; empty if it came in a link.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the recording as a JSON object; :func:`parse_export` reads it back."""
        commands = [
            {"event": timed.event, "time_us": timed.time_us, "command": timed.command.to_dict()}
            for timed in self.commands
        ]
        return {
            "format": FORMAT,
            "version": VERSION,
            "python": self.python,
            "scenario": self.scenario.name,
            "text": self.scenario.text,
            "seed": self.seed,
            "commands": commands,
            "event": self.event,
            "time_us": self.time_us,
            "journal_hash": self.journal_hash,
        }

    def link(self) -> str:
        """Return the part of an address after ``#``: letters, digits, ``-`` and ``_``. :func:`parse_link` reads it
        back.

        A scenario that comes with GlassMQ is included by name, any other one by its text.
        """
        scenario = self.scenario
        content: dict[str, Any] = {"s": scenario.name, "n": self.seed, "e": self.event, "t": self.time_us}
        if _is_shipped(scenario.name, scenario.text):
            content["d"] = _digest(scenario.text)
        else:
            content["x"] = scenario.text
        content["c"] = [[timed.event, timed.time_us, timed.command.to_dict()] for timed in self.commands]
        packed = zlib.compress(json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode(), 9)
        return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def python_version() -> str:
    """Return ``3.11``: another version of asyncio may need another number of events for the same run."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


# --- file ------------------------------------------------------------------------------------------------------------


def parse_export(data: object) -> Recording:
    """Parse an exported run. Raises :class:`RecordingRefused` and, for its text,
    :class:`~engine.lab.scenario.errors.ScenarioError`.
    """
    fields = _object(data, Text("refusal.an_export"))
    if fields.get("format") != FORMAT or fields.get("version") != VERSION:
        raise RecordingRefused("refusal.no_export", format=FORMAT, version=VERSION)
    name = check_scenario_name(_text(fields, "scenario", NAME_MAX_LENGTH))
    commands = fields.get("commands")
    if not isinstance(commands, list):
        raise RecordingRefused("refusal.no_command_list")
    timed = []
    for entry in commands:
        part = _object(entry, Text("refusal.a_command_entry"))
        timed.append((part.get("event"), part.get("time_us"), part.get("command")))
    return Recording(
        scenario=parse_scenario(_text(fields, "text", TEXT_MAX_CHARACTERS), name),
        seed=_integer(fields.get("seed"), "seed", SEED_MAX),
        commands=_timed_commands(timed),
        event=_integer(fields.get("event"), "event", EVENTS_MAX),
        time_us=_integer(fields.get("time_us"), "time_us", DURATION_MAX_MS * 1_000),
        journal_hash=_text(fields, "journal_hash", 64),
        python=_text(fields, "python", 20),
    )


# --- link ------------------------------------------------------------------------------------------------------------


def parse_link(fragment: str) -> Recording:
    """Parse a link. Raises :class:`RecordingRefused`, ``UnknownScenario``, ``ScenarioError``."""
    fields = _object(_unpack(fragment), Text("refusal.link_content"))
    name = check_scenario_name(_text(fields, "s", NAME_MAX_LENGTH))
    if "x" in fields:
        scenario, is_changed = parse_scenario(_text(fields, "x", TEXT_MAX_CHARACTERS), name), False
    else:
        scenario = load_scenario(name)
        is_changed = fields.get("d") != _digest(scenario.text)
    commands = fields.get("c")
    if not isinstance(commands, list):
        raise RecordingRefused("refusal.link_without_commands")
    timed = []
    for entry in commands:
        if not isinstance(entry, list) or len(entry) != 3:
            raise RecordingRefused("refusal.link_bad_command")
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
        raise RecordingRefused("refusal.link_too_long", length=len(fragment), limit=LINK_MAX_CHARACTERS)
    try:
        packed = base64.b64decode(fragment + "=" * (-len(fragment) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, LINK_UNPACKED_MAX_BYTES)
        if not unpacker.eof:
            raise RecordingRefused("refusal.link_cut")
        return json.loads(content)
    except (binascii.Error, zlib.error, ValueError, RecursionError) as error:
        raise RecordingRefused("refusal.link_unreadable", problem=str(error)) from error


@lru_cache(maxsize=64)
def _is_shipped(name: str, text: str) -> bool:
    """Return whether ``text`` is the scenario that comes with GlassMQ. Cached: a playing world makes a link each
    second.
    """
    try:
        return scenario_text(name) == text
    except UnknownScenario:
        return False


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# --- checks ----------------------------------------------------------------------------------------------------------


def _timed_commands(entries: Sequence[tuple[object, object, object]]) -> tuple[TimedCommand, ...]:
    if len(entries) > COMMANDS_MAX:
        raise RecordingRefused("refusal.too_many_recorded", count=len(entries), limit=COMMANDS_MAX)
    timed: list[TimedCommand] = []
    for number, (event, time_us, command) in enumerate(entries, 1):
        try:
            parsed = parse_command(command)
        except CommandRefused as error:
            raise RecordingRefused("refusal.bad_recorded_command", number=number, problem=error.text) from error
        entry = TimedCommand(
            _integer(event, _field_of("event", number), EVENTS_MAX),
            _integer(time_us, _field_of("time_us", number), DURATION_MAX_MS * 1_000),
            parsed,
        )
        if timed and entry[:2] < timed[-1][:2]:
            raise RecordingRefused("refusal.commands_out_of_order", number=number, before=number - 1)
        timed.append(entry)
    return tuple(timed)


def _field_of(name: str, command: int) -> Text:
    return Text("refusal.field_of_command", field=name, number=command)


def _object(data: object, what: Text) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise RecordingRefused("refusal.no_object", what=what, data=data)
    return data


def _text(fields: Mapping[str, Any], name: str, max_length: int) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > max_length:
        raise RecordingRefused("refusal.no_text", name=name, limit=max_length, value=value)
    return value


def _integer(value: object, name: str | Text, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= high:
        raise RecordingRefused("refusal.no_number", name=name, high=high, value=value)
    return value
