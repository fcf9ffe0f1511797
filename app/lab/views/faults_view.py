"""The active faults of a world: for the faults panel, and the signs on nodes and links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.scenario.command import COMMANDS

if TYPE_CHECKING:
    from app.picture.world.fault import Fault
    from engine.lab.nodes.scenario_node import ScenarioNode
    from engine.lab.world.world import ScenarioWorld


def faults_view(world: ScenarioWorld) -> list[Fault]:
    """Return the faults of nodes first, then of links, then frames that are waited for."""
    found = [*_node_faults(world), *_link_faults(world)]
    if not found:
        return []
    events: dict[tuple[str, str], int] = {}
    for done in world.history.commands:
        events[done.command.kind, done.command.target] = done.event
        events[done.command.kind, ""] = done.event
    shown: list[Fault] = []
    for kind, target, detail, links in found:
        event = events.get((kind, target), events.get((kind, "")))
        fault = _fault(kind, target, detail, event)
        if links:
            fault["links"] = links
        shown.append(fault)
    return shown


def _fault(kind: str, target: str, detail: str, event: int | None) -> Fault:
    name = COMMANDS[kind].name
    text = {
        language: f"{target}: {name[language]}{f' ({detail})' if detail else ''}"
        if target
        else f"{name[language]} {detail}"
        for language in ("en", "zh")
    }
    return {"kind": kind, "target": target, "text": text, "event": event}


#: Kind, target, detail, and for a fault of links their directions.
_Found = tuple[str, str, str, list[list[str]]]


def _node_faults(world: ScenarioWorld) -> Iterator[_Found]:
    for name, role in world.nodes.items():
        status = role.status
        if status == "crashed":
            yield _crash_kind(world, name), name, role.failure, []
        elif status == "paused":
            yield "pause-node", name, "", []
        skew_ms = role.runtime.clock.skew_ms
        if skew_ms:
            yield "clock-skew", name, f"{skew_ms:+d} ms", []
        for actor in held_actors(role):
            yield "hold", actor, "", []
        for switch in role.switched_off:
            yield "lock-switch", name, f"{switch}: off", []
        if role.spec.has_disk and world.disk_of(name).occupied_bytes:
            yield "disk-full", name, "", []
        broker = world.find(BrokerNode, name)
        if broker is not None:
            yield from _broker_faults(broker)


def _broker_faults(role: BrokerNode) -> Iterator[_Found]:
    now_ms = role.injector.clock.now_ms()
    if role.storage.flush_us != role.spec.disk.fsync_ms * 1_000:
        yield "slow-fsync", role.name, f"{role.storage.flush_us / 1_000:g} ms", []
    if role.storage.flush_error:
        yield "fail-fsync", role.name, "", []
    for rule in role.injector.rules:
        if not rule.is_spent(now_ms):
            yield "fault", role.name, f"{rule.what.value} {rule.frame or '*'}: {rule.hits}", []
    for group in role.broker.rebalance_lock_manager.groups_off if role.broker is not None else ():
        yield "group-lock", role.name, f"{group}: off", []


def _crash_kind(world: ScenarioWorld, name: str) -> str:
    """Return the command that ended the node's process last."""
    kinds = ("crash", "crash-power", "torn-write", "kill-consumer")
    for done in reversed(world.history.commands):
        if done.command.target == name and done.command.kind in kinds:
            return done.command.kind
    return "crash"


def held_actors(role: ScenarioNode) -> tuple[str, ...]:
    """Return the names of the tasks of a node that are held."""
    return tuple(task.actor.name for task in role.runtime.node.tasks if task.actor.held_until_us and not task.done())


def _link_faults(world: ScenarioWorld) -> Iterator[_Found]:
    faults = world.link_faults
    for partition in faults.partitions:
        arrow = "→" if partition.one_way else "|"
        cut = [list(link) for link in partition.links()]
        sides = f"{', '.join(partition.left)} {arrow} {', '.join(partition.right)}"
        mended = ", ".join("→".join(link) for link in partition.mended)
        yield "partition", "", f"{sides} − {mended}" if mended else sides, cut
    for (source, target), link in faults.poor_links.items():
        name = f"{source}->{target}"
        if link.delay_us:
            yield "link-delay", name, f"+{link.delay_us / 1_000:g} ms", [[source, target]]
        for kind, ratio in (
            ("link-loss", link.loss_ratio),
            ("link-duplicate", link.duplicate_ratio),
            ("link-reorder", link.reorder_ratio),
        ):
            if ratio:
                yield kind, name, f"{ratio:.0%}", [[source, target]]
    for waiting in faults.next_frames:
        kind = (
            "drop-next" if not waiting.delays_us else "delay-next" if len(waiting.delays_us) == 1 else "duplicate-next"
        )
        name = f"{waiting.source}->{waiting.target}" if waiting.source else ""
        yield kind, name, waiting.frame, [[waiting.source, waiting.target]] if waiting.source else []
