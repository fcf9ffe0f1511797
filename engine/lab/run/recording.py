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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from engine.fields.field import Field, read_fields
from engine.fields.refusal import FieldRefused
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused, RecordingRefused, UnknownScenario
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.scenario.scenario_files import NAME_MAX_LENGTH, check_scenario_name, load_scenario, scenario_text
from engine.lab.scenario.scenario_text import DURATION_MAX_MS, SEED_MAX, parse_scenario
from engine.lab.scenario.scenario_yaml import TEXT_MAX_CHARACTERS

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


# --- fields ----------------------------------------------------------------------------------------------------------

_TIME = (Field("event", "integer", 0, EVENTS_MAX), Field("time_us", "integer", 0, DURATION_MAX_MS * 1_000))
_RUN = (Field("scenario", "text", 1, NAME_MAX_LENGTH), Field("seed", "integer", 0, SEED_MAX), *_TIME)
_COMMAND = (*_TIME, Field("command", "object"))
EXPORT_FIELDS = (
    Field("format", "choice", allowed=(FORMAT,)),
    Field("version", "integer", VERSION, VERSION),
    *_RUN,
    Field("text", "text", 0, TEXT_MAX_CHARACTERS),
    Field("commands", "list", 0, COMMANDS_MAX, fields=_COMMAND),
    Field("journal_hash", "text", 0, 64),
    Field("python", "text", 0, 20),
)
LINK_FIELDS = (
    *_RUN,
    Field("text", "text", 0, TEXT_MAX_CHARACTERS, default=None),
    Field("digest", "text", 0, 64, default=""),
    Field("commands", "list", 0, COMMANDS_MAX, item=Field("", "row", fields=_COMMAND)),
)
#: Name of a field in a link, which must be short -> its name here.
_LINK_NAMES = {
    "s": "scenario", "n": "seed", "e": "event", "t": "time_us", "x": "text", "d": "digest", "c": "commands"
}  # fmt: skip


def parse_export(data: object) -> Recording:
    """Parse an exported run. Raises :class:`RecordingRefused` and, for its text,
    :class:`~engine.lab.scenario.errors.ScenarioError`.
    """
    fields = _read(EXPORT_FIELDS, data, "run", is_open=True)
    return Recording(
        scenario=parse_scenario(fields["text"], fields["scenario"]),
        seed=fields["seed"],
        commands=_timed_commands(entry.values() for entry in fields["commands"]),
        event=fields["event"],
        time_us=fields["time_us"],
        journal_hash=fields["journal_hash"],
        python=fields["python"],
    )


def parse_link(fragment: str) -> Recording:
    """Parse a link. Raises :class:`RecordingRefused`, ``UnknownScenario``, ``ScenarioError``."""
    content = _unpack(fragment)
    if isinstance(content, Mapping):
        content = {_LINK_NAMES.get(name, name): value for name, value in content.items()}
    # A link is short, so every part of it means something: one that is unknown here cannot be left out.
    fields = _read(LINK_FIELDS, content, "link", is_open=False)
    name, text = fields["scenario"], fields["text"]
    scenario = load_scenario(name) if text is None else parse_scenario(text, name)
    return Recording(
        scenario=scenario,
        seed=fields["seed"],
        commands=_timed_commands(fields["commands"]),
        event=fields["event"],
        time_us=fields["time_us"],
        is_changed=text is None and fields["digest"] != _digest(scenario.text),
    )


def _read(table: Sequence[Field], data: object, what: str, *, is_open: bool) -> dict[str, Any]:
    """Return the fields of a run. Raises :class:`RecordingRefused`."""
    try:
        fields = read_fields(table, data, what=what, is_open=is_open)
    except FieldRefused as refused:
        raise RecordingRefused(refused.text) from refused
    check_scenario_name(fields["scenario"])
    return fields


def _timed_commands(entries: Iterable[Iterable[Any]]) -> tuple[TimedCommand, ...]:
    timed: list[TimedCommand] = []
    for number, (event, time_us, command) in enumerate(entries, 1):
        try:
            timed.append(TimedCommand(event, time_us, parse_command(command)))
        except CommandRefused as error:
            raise RecordingRefused("refusal.bad_recorded_command", number=number, problem=error.text) from error
        if number > 1 and timed[-1][:2] < timed[-2][:2]:
            raise RecordingRefused("refusal.commands_out_of_order", number=number, before=number - 1)
    return tuple(timed)


# --- link ------------------------------------------------------------------------------------------------------------


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
