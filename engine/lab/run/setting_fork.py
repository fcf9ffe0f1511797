"""The same story with another setting: a run from the beginning, brought to where the other one stands."""

from __future__ import annotations

from collections import deque

from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import Command


class SettingFork:
    """A run in which a node had another ``setting`` from the beginning. Raises :class:`CommandRefused`.

    The commands of ``original`` follow at the same virtual times as before; one that cannot be applied any more is left
    out.

    :ivar run: complete as soon as :meth:`advance` says so.
    """

    def __init__(self, original: LabRun, setting: Command) -> None:
        if setting.kind != "setting":
            raise CommandRefused("refusal.only_settings", kind=setting.kind)
        self.run = LabRun(original.scenario, original.seed, check=original.checkers is not None)
        try:
            self.run.apply(setting)
        except CommandRefused:
            self.run.close()
            raise
        self._commands = deque(
            timed for timed in original.commands if timed.event > 0 or not _is_same_setting(timed.command, setting)
        )
        self._end_us = original.now_us

    def advance(self, max_events: int) -> bool:
        """Run up to ``max_events`` events, or a few more; True: it has come to where the original stands."""
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


def _is_same_setting(first: Command, second: Command) -> bool:
    """Whether both set the same setting of the same node."""
    return first.kind == second.kind and first.target == second.target and first.value["name"] == second.value["name"]
