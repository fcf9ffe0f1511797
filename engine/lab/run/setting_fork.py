"""A copy of a run with one change: it starts at the beginning and is run to the position of the original."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from engine.lab.run.recording import Recording, TimedCommand
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command


class StoryVariant:
    """A run with a change from ``original``.

    :param before: commands at their recorded positions.
    :param first: commands before everything else.
    :param later: commands at their recorded virtual times: their events may have other numbers now. One that can no
        longer be applied is left out.
    :ivar run: complete when :meth:`advance` returns True.
    """

    def __init__(
        self,
        original: Recording,
        *,
        before: Sequence[TimedCommand] = (),
        first: Command | None = None,
        later: Iterable[TimedCommand] = (),
        check: bool = True,
    ) -> None:
        self.run = LabRun(original.scenario, original.seed, before, check=check)
        self._commands = deque(later)
        self._end_us = original.time_us
        if first is not None:
            try:
                self.run.apply(first)
            except CommandRefused:
                self.run.close()
                raise

    def advance(self, max_events: int) -> bool:
        """Run up to ``max_events`` events, or a few more; return True when it has reached the position of the
        original.
        """
        while True:
            until_us = self._commands[0].time_us if self._commands else self._end_us
            if self.run.run_to_time(until_us, max_events) == max_events:
                return False
            if not self._commands:
                return True
            try:
                self.run.apply(self._commands.popleft().command)
            except CommandRefused:
                continue


class SettingFork(StoryVariant):
    """A run in which a node had another ``setting`` from the beginning. Raises :class:`CommandRefused`."""

    def __init__(self, original: LabRun, setting: Command) -> None:
        if setting.kind != "setting":
            raise CommandRefused("refusal.only_settings", kind=setting.kind)
        later = [
            timed for timed in original.commands if timed.event > 0 or not _is_same_setting(timed.command, setting)
        ]
        super().__init__(original.recording(), first=setting, later=later, check=original.checkers is not None)


class StoryWithMore(StoryVariant):
    """A run at the position of ``original``, with one more command."""

    def __init__(self, original: Recording, command: Command) -> None:
        super().__init__(original, before=original.commands)
        self._place = (original.event, original.time_us)
        self._command = command

    def advance(self, max_events: int) -> bool:
        """Continue as the base does. Raises :class:`CommandRefused`: only the world at that position can tell."""
        event, time_us = self._place
        if event - self.run.event_number > max_events and self.run.run_events(max_events):
            return False
        self.run.stand_at(event, time_us)
        self.run.apply(self._command)
        return True


def with_command(original: Recording, command: Command, *, from_start: bool) -> StoryVariant:
    """Return ``original`` with one more command: before everything else, or at its position.

    Raises :class:`CommandRefused`.
    """
    if from_start:
        return StoryVariant(original, first=command, later=original.commands)
    return StoryWithMore(original, command)


def without_last_command(original: Recording) -> StoryVariant | Recording:
    """Return ``original`` without its last command; a recording if nothing needs to run."""
    before, last = original.commands[:-1], original.commands[-1]
    if last.event == original.event:
        return Recording(original.scenario, original.seed, before, original.event, original.time_us)
    return StoryVariant(original, before=before)


def _is_same_setting(first: Command, second: Command) -> bool:
    """Return whether both set the same setting of the same node."""
    return first.kind == second.kind and first.target == second.target and first.value["name"] == second.value["name"]
