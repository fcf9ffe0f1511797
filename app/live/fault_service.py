"""Injects faults into the live engine: the lab's commands that apply to a live broker, and the active faults.

Everything here runs in the engine's thread. The lab's node is here the broker, by its name, or ``name-server``.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from app.foundation.translator import in_all_languages
from app.live.held_view import held_view, recorded_names, rule_view
from app.metrics.fault_metrics import fault_families
from app.observation.unix_time import unix_us
from engine.faults.changed_frame import changed_frame
from engine.faults.errors import FaultRefused
from engine.faults.fault_rule import MS_MAX, Direction, FaultAction, FaultRule
from engine.faults.frame_file import FrameFile, frame_file
from engine.faults.frame_subject import REPLY
from engine.fields.field import Field
from engine.lab.scenario.command import COMMANDS, FRAME_NAMES, CommandKind, Target, parse_command
from engine.lab.world.broker_faults import give_lock, rule_of, switch_group_lock
from engine.name_server.default_request_processor import DefaultRequestProcessor
from engine.name_server.tool_request_processor import ToolRequestProcessor
from engine.protocol.request_code import RequestCode
from engine.remoting.processor import codes_of
from engine.texts import Text

if TYPE_CHECKING:
    from app.metrics.exposition import MetricFamily
    from app.observation.client_names import ClientNames
    from app.picture.live import fault
    from app.watch.words import Words
    from engine.broker.broker import Broker
    from engine.faults.fault_injector import FaultInjector
    from engine.lab.scenario.scenario import Command
    from engine.live.live_machines import LiveMachines

NAME_SERVER = "name-server"
#: Held frames of one answer, the oldest; a page polls every second.
HELD_SHOWN = 50
#: A paused engine answers no request, not even this page's: the pause must end by itself. So must a flush that stops
#: the engine.
PAUSE_MS_MAX = 30_000

_OF_NAME_SERVERS = codes_of(DefaultRequestProcessor, ToolRequestProcessor)
#: Requests between a broker and its clients, for which rules are made here.
_REQUESTS = {code.name for code in RequestCode if code not in _OF_NAME_SERVERS}
_FRAMES = tuple(name for name in FRAME_NAMES if name in ("", REPLY) or name.removeprefix(f"{REPLY} to ") in _REQUESTS)


def _live_kind(kind: CommandKind) -> CommandKind:
    """Return a command of the lab for the frames that a live broker exchanges."""
    fields = [dataclasses.replace(field, allowed=_FRAMES) if field.name == "frame" else field for field in kind.fields]
    return dataclasses.replace(kind, fields=tuple(fields))


#: The commands of the lab that mean the same here, and two that are carried out differently.
LIVE_COMMANDS: Mapping[str, CommandKind] = {
    kind: _live_kind(COMMANDS[kind])
    for kind in (
        "fault",
        "drop-next",
        "delay-next",
        "duplicate-next",
        "clear-faults",
        "crash",
        "restart",
        "disk-full",
        "disk-free",
        "fail-fsync",
        "lock-switch",
        "group-lock",
        "give-lock",
    )
} | {
    "advance": CommandKind(
        Target.BROKER,
        (Field("ms", "integer", 1, MS_MAX),),
        Text("command.advance.name"),
        Text("command.advance.what"),
    ),
    "slow-fsync": dataclasses.replace(COMMANDS["slow-fsync"], fields=(Field("ms", "integer", 0, PAUSE_MS_MAX),)),
    "pause": CommandKind(
        Target.BROKER,
        (Field("ms", "integer", 1, PAUSE_MS_MAX, default=5_000),),
        Text("command.pause.name"),
        Text("command.pause.what"),
    ),
}


class FaultService:
    """Carries out the commands of faults.

    :param names: short names of the clients.
    :param pause: stops the engine's thread for this many milliseconds, after the current step.
    :param changed: is called after each command.
    """

    def __init__(
        self,
        machines: LiveMachines,
        injector: FaultInjector,
        names: ClientNames,
        pause: Callable[[int], None],
        changed: Callable[[], None],
    ) -> None:
        self.injector = injector
        self._changed = changed
        self._machines = machines
        self._names = names
        self._pause_engine = pause
        self._broker_crashed_us: int | None = None
        #: One command at a time: a broker that is being started cannot be started again.
        self._one_at_a_time = asyncio.Lock()
        self._actions: dict[str, Callable[[Command], Awaitable[None] | None]] = {
            "fault": self._add_rule,
            "drop-next": lambda command: self._next_frame(command, FaultAction.DROP),
            "delay-next": lambda command: self._next_frame(command, FaultAction.DELAY),
            "duplicate-next": lambda command: self._next_frame(command, FaultAction.DUPLICATE),
            "clear-faults": lambda command: self.clear(),
            "crash": self._crash,
            "restart": self._restart,
            "disk-full": lambda command: self._set_disk("is_full", True),
            "disk-free": lambda command: self._set_disk("is_full", False),
            "slow-fsync": lambda command: self._set_disk("flush_ms", command.value["ms"]),
            "fail-fsync": lambda command: self._set_disk("flushes_fail", not command.value["on"]),
            "lock-switch": self._lock_switch,
            "group-lock": lambda command: switch_group_lock(self._broker(), command),
            "give-lock": self._give_lock,
            "advance": lambda command: self._machines.advance(int(str(command.value["ms"]))),
            "pause": lambda command: self._pause_engine(int(str(command.value["ms"]))),
        }

    # --- commands -----------------------------------------------------------------------------------------------------

    async def apply(self, data: object) -> fault.ActiveFaults:
        """Carry out a command, and return the active faults.

        Raises ``CommandRefused`` or :class:`FaultRefused`: then nothing has happened.
        """
        command = parse_command(data, LIVE_COMMANDS)
        names = (self._machines.broker_name, NAME_SERVER) if command.kind in ("crash", "restart") else None
        is_link = LIVE_COMMANDS[command.kind].target in (Target.ANY_LINK, Target.ANY_NODE)
        known = names or (self._machines.broker_name,)
        if not is_link and command.target not in known:
            raise FaultRefused("refusal.no_node", name=command.target, known=", ".join(known))
        async with self._one_at_a_time:
            result = self._actions[command.kind](command)
            if result is not None:
                await result
        self._changed()
        return self.view()

    def _broker(self) -> Broker:
        if not self._machines.broker_runs:
            raise FaultRefused("refusal.broker_is_off", name=self._machines.broker_name)
        return self._machines.broker

    def _add_rule(self, command: Command) -> None:
        self.injector.add(rule_of(command))

    def _next_frame(self, command: Command, action: FaultAction) -> None:
        """Add a fault for the next frame. The target is ``client->broker`` or ``broker->client``; empty means any."""
        direction, client = "", ""
        if command.target:
            source, arrow, target = command.target.partition("->")
            here = self._machines.broker_name
            if not arrow or here not in (source, target) or source == target:
                raise FaultRefused("refusal.no_live_link", link=command.target, broker=here)
            direction, client = (Direction.IN, source) if target == here else (Direction.OUT, target)
        ms = int(str(command.value.get("ms", 1_000)))
        frame = str(command.value["frame"])
        self.injector.add(FaultRule(action, frame, direction, client if client != "*" else "", ms=ms, times=1))

    async def _crash(self, command: Command) -> None:
        if command.target == NAME_SERVER:
            await self._machines.crash_name_server()
        else:
            await self._machines.crash_broker()
            self._broker_crashed_us = unix_us(self.injector.clock.now_ms())

    async def _restart(self, command: Command) -> None:
        if command.target == NAME_SERVER:
            await self._machines.restart_name_server()
        else:
            await self._machines.restart_broker()

    def _set_disk(self, name: str, value: object) -> None:
        setattr(self._machines.broker_disk, name, value)

    def _lock_switch(self, command: Command) -> None:
        if command.value["lock"] != "broker-lock":
            raise FaultRefused("refusal.locks_of_clients", lock=command.value["lock"])
        self._broker().rebalance_lock_manager.enabled = bool(command.value["on"])

    def _give_lock(self, command: Command) -> None:
        give_lock(self._broker(), command, str(command.value["to"]))

    def clear(self) -> None:
        """End all faults, except stopped processes: those are restarted by hand."""
        self.injector.clear()
        self.injector.delayed.pass_all()  # in the lab they keep their time, each an event of its own
        self._machines.broker_disk.mend()
        if self._machines.broker_runs:
            locks = self._machines.broker.rebalance_lock_manager
            locks.enabled = True
            locks.groups_off.clear()
        self._changed()

    # --- held frames --------------------------------------------------------------------------------------------------

    def let_pass(
        self, held_id: int, fields: Mapping[str, str], properties: Mapping[str, str], body: bytes | None
    ) -> None:
        """Let a held frame go on, with these changes. Raises :class:`FaultRefused`: then it still waits."""
        held = next((held for held in self.injector.held.frames if held.held_id == held_id), None)
        if held is None or not (fields or properties or body is not None):
            return self.injector.let_pass(held_id)
        self.injector.let_pass(held_id, changed_frame(held.subject, fields, properties, body))

    def frames(self, last: int | None = None) -> FrameFile:
        """Return the recorded frames; ``last``: only this number, the newest.

        Raises :class:`FaultRefused` when nothing was recorded.
        """
        record = self.injector.frame_record
        if record is None:
            raise FaultRefused("refusal.nothing_recorded")
        return frame_file(record, self._machines.broker_name, recorded_names(record, self._names), last)

    # --- view ---------------------------------------------------------------------------------------------------------

    def _broken(self) -> fault.BrokenMachines:
        """Return the faults of the machines."""
        machines = self._machines
        disk = machines.broker_disk
        locks = machines.broker.rebalance_lock_manager if machines.broker_runs else None
        return {
            "broker_crashed": not machines.broker_runs and machines.member is None,
            "name_server_crashed": not machines.name_server_runs,
            "disk_full": disk.is_full,
            "flush_ms": disk.flush_ms,
            "flushes_fail": disk.flushes_fail,
            "broker_lock_off": locks is not None and not locks.enabled,
            "groups_off": [] if locks is None else [*locks.groups_off],
        }

    def active(self) -> dict[str, Words]:
        """Return key -> name of each fault that is active, other than a stopped broker. Of a rule that is spent at
        once, :meth:`apply` has reported the beginning.
        """
        broken = self._broken()
        flags: Mapping[str, object] = broken
        named: dict[str, Words] = {
            key: in_all_languages(f"faults.is.{text}", n=flags[key])
            for key, text in (
                ("disk_full", "disk_full"),
                ("flush_ms", "flush_ms"),
                ("flushes_fail", "flushes_fail"),
                ("broker_lock_off", "lock_off"),
            )
            if flags[key]
        }
        if broken["name_server_crashed"]:
            named["name_server"] = in_all_languages(
                "faults.is.crashed", name=in_all_languages("live.stage.name_server")
            )
        named |= {
            f"group {name}": in_all_languages("faults.is.groups_off", groups=name) for name in broken["groups_off"]
        }
        now_ms = self.injector.clock.now_ms()
        for rule in self.injector.rules:
            if not rule.is_spent(now_ms):
                what = in_all_languages(f"faults.what.{rule.what.value}")
                named[f"rule {rule.rule_id}"] = {name: f"{text} {rule.frame}".strip() for name, text in what.items()}
        return named

    def metrics(self) -> list[MetricFamily]:
        """Return the metrics of app/metrics/fault_metrics.py."""
        return fault_families(self.injector, sum(map(bool, self._broken().values())))

    def view(self) -> fault.ActiveFaults:
        """Return the active faults."""
        injector, machines, now_ms = self.injector, self._machines, self.injector.clock.now_ms()
        broken = self._broken()
        return {
            "is_active": injector.is_active or any(broken.values()),
            "now_us": unix_us(now_ms),
            "broker": machines.broker_name,
            "clock_ahead_ms": machines.ahead_ms,
            "broken": broken,
            "broker_crashed_us": self._broker_crashed_us if broken["broker_crashed"] else None,
            "rules": [rule_view(rule, now_ms) for rule in injector.rules],
            "hits": [
                {
                    "at_us": unix_us(hit.at_ms),
                    "rule": hit.rule_id,
                    "what": hit.what.value,
                    "client": hit.client,
                    "client_name": self._names.known(hit.client),
                    "direction": hit.direction.value,
                    "frame": hit.frame,
                }
                for hit in reversed(injector.hits)
            ],
            "held": [
                held_view(held, machines.broker_name, self._names, now_ms) for held in injector.held.frames[:HELD_SHOWN]
            ],
            "held_count": len(injector.held),
            "delayed_count": len(injector.delayed),
            "lease_ms": injector.lease_left_ms(),
            "recording": self._recording_view(),
        }

    def _recording_view(self) -> fault.FrameRecordNow | None:
        record = self.injector.frame_record
        if record is None:
            return None
        return {
            "is_on": self.injector.is_recording,
            "client": record.client,
            "bodies": record.with_bodies,
            "count": record.count,
            "started_us": unix_us(record.started_ms),
        }
