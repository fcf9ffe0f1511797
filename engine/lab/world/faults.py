"""Execution of commands on a world.

A command acts between two events. What needs engine code to run (a clean shutdown, a topic change) becomes events of
the node that runs it.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.history import CommandApplied
from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.scenario.command import COMMANDS, Target
from engine.lab.scenario.errors import CommandRefused, SettingRefused
from engine.lab.scenario.listener_spec import ListenerResult
from engine.lab.scenario.scenario import Command, ScriptLine
from engine.lab.scenario.scenario_names import NODE_NAME, NODES_MAX
from engine.lab.scenario.settings import check_settings, find_setting
from engine.lab.world.administrator_actions import (
    act_on_half_message,
    change_membership,
    free_record,
    resend_dead_letter,
)
from engine.lab.world.broker_faults import BROKER_ACTIONS
from engine.lab.world.disk_faults import DISK_ACTIONS
from engine.lab.world.link_faults import NextFrameFault
from engine.lab.world.peer_damage import PEER_DAMAGES, damage
from engine.lab.world.world import ScenarioWorld
from engine.protocol.errors import ProtocolError
from engine.protocol.names import validate_topic
from engine.runtime.lab.lab_actor import LabActor
from engine.runtime.lab.lab_link_fault import Partition
from engine.runtime.lab.lab_storage import LabStorage
from engine.texts import Text, joined

_log = logging.getLogger("glassmq.lab")

_Role = TypeVar("_Role", bound=ScenarioNode)


class NoSuchTarget(CommandRefused):
    """The world has no such node, actor or topic."""


class WrongNodeState(CommandRefused):
    """The node's state does not allow the command: only a running node can crash."""


class TooManyFaults(CommandRefused):
    """The world already waits for the maximum of frames, or has the maximum of partitions."""


#: Most partitions of one world, and frames that it waits for, at a time.
FAULTS_MAX = 100


def apply_command(world: ScenarioWorld, command: Command) -> None:
    """Apply a command, and note it in history and journal. Raises :class:`CommandRefused`, in which case nothing has
    happened.
    """
    if COMMANDS[command.kind].target in _OF_TARGET:
        _OF_TARGET[COMMANDS[command.kind].target](world, command)
    _ACTIONS[command.kind](world, command)
    world.history.commands.append(CommandApplied(world.event_number, world.now_us, command))
    fields = sorted(command.to_dict().items())
    world.journal.mix(f"command after {world.event_number} at {world.now_us}: {fields}\n".encode())


def follow_script(world: ScenarioWorld) -> None:
    """Schedule the scenario's own commands as events of a world that begins."""
    loop = world.loop
    story = loop.new_actor("story", loop.root.node)
    context = loop.context_of(story)
    for line in world.scenario.script:
        label = f"{line.command.kind} {line.command.target}".strip()
        loop.post(story, context, label, line.at_ms * 1_000, _follow, world, line)


def _follow(world: ScenarioWorld, line: ScriptLine) -> None:
    try:
        apply_command(world, line.command)
    except CommandRefused as refusal:
        # A command from outside was faster: what the script wanted to crash has crashed already.
        _log.info("the script's %s at %d ms is left out: %s", line.command.kind, line.at_ms, refusal)


# --- targets ---------------------------------------------------------------------------------------------------------


def find_node(world: ScenarioWorld, name: str) -> ScenarioNode:
    """Return the node with this name. Raises :class:`NoSuchTarget`."""
    role = world.nodes.get(name)
    if role is None:
        raise NoSuchTarget("refusal.no_node", name=name, known=", ".join(world.nodes))
    return role


def _of_kind(world: ScenarioWorld, kind: type[_Role], name: str, refusal: str, command: str) -> _Role:
    role, found = find_node(world, name), world.find(kind, name)
    if found is None:
        known = ", ".join(one.name for one in world.roles(kind))
        raise NoSuchTarget(refusal, kind=command, name=role.name, role=role.role, known=known)
    return found


def _broker(world: ScenarioWorld, command: Command) -> BrokerNode:
    return _of_kind(world, BrokerNode, command.target, "refusal.needs_broker", command.kind)


def _consumer(world: ScenarioWorld, name: str, kind: str) -> ConsumerNode:
    return _of_kind(world, ConsumerNode, name, "refusal.needs_consumer", kind)


def _directions(world: ScenarioWorld, link: str) -> list[tuple[str, str]]:
    """Return the (source, target) pairs of ``A->B`` or ``A<->B``."""
    both, arrow = "<->" in link, "<->" if "<->" in link else "->"
    source, found, target = link.partition(arrow)
    if not found:
        raise NoSuchTarget("refusal.no_link", link=link)
    for name in (source, target):
        find_node(world, name)
    return [(source, target), (target, source)] if both else [(source, target)]


def find_actor(world: ScenarioWorld, name: str) -> LabActor:
    """Return the oldest actor with this name that still runs. Raises :class:`NoSuchTarget`."""
    for actor in world.actors():
        if actor.name == name and actor.node.alive:
            return actor
    raise NoSuchTarget("refusal.no_actor", name=name)


def _need(role: ScenarioNode, allowed: tuple[str, ...], action: Text) -> None:
    if role.status not in allowed:
        status, *states = (Text(f"status.{one}") for one in (role.status, *allowed))
        listed = joined("words.or", states)
        raise WrongNodeState("refusal.wrong_state", name=role.name, status=status, allowed=listed, action=action)


# --- processes -------------------------------------------------------------------------------------------------------


def _crash(world: ScenarioWorld, command: Command) -> None:
    role = find_node(world, command.target)
    _need(role, ("running", "paused"), Text("action.crash"))
    world.lab.crash(role.name)
    role.crashed()


def _crash_power(world: ScenarioWorld, command: Command) -> None:
    role = find_node(world, command.target)
    _need(role, ("running", "paused"), Text("action.lose_power"))
    torn = command.kind == "torn-write" or bool(command.value.get("torn"))
    world.lab.crash(role.name, keep_page_cache=False, silent=True, torn=torn)
    role.crashed()


def _restart(world: ScenarioWorld, command: Command) -> None:
    role = find_node(world, command.target)
    _need(role, ("crashed", "off"), Text("action.be_started"))
    role.restart()


def _pause(world: ScenarioWorld, command: Command) -> None:
    role = find_node(world, command.target)
    _need(role, ("running",), Text("action.be_paused"))
    world.lab.pause(role.name)


def _resume(world: ScenarioWorld, command: Command) -> None:
    role = find_node(world, command.target)
    _need(role, ("paused",), Text("action.go_on"))
    world.lab.resume(role.name)


def _clock_skew(world: ScenarioWorld, command: Command) -> None:
    find_node(world, command.target).runtime.clock.skew_ms = _integer(command, "ms")


def _stop_consumer(world: ScenarioWorld, command: Command) -> None:
    role = _consumer(world, command.target, command.kind)
    _need(role, ("running",), Text("action.be_stopped"))
    role.stop()


def _resume_consumer(world: ScenarioWorld, command: Command) -> None:
    role = _consumer(world, command.target, command.kind)
    _need(role, ("running",), Text("action.be_resumed"))
    role.resume_consumer()


def _add_consumer(world: ScenarioWorld, command: Command) -> None:
    like = _consumer(world, str(command.value["like"]), command.kind)
    name = command.target
    if not NODE_NAME.fullmatch(name):
        raise NoSuchTarget("refusal.no_node_name", name=name)
    if like.spec.bank is not None:
        raise NoSuchTarget("refusal.one_bank_only", name=like.name)
    if len(world.nodes) >= NODES_MAX:
        raise TooManyFaults("refusal.too_many_nodes", limit=NODES_MAX)
    world.add_node(dataclasses.replace(like.spec, name=name, start_ms=0, stop_ms=None))


def _listener(world: ScenarioWorld, command: Command) -> None:
    role = _consumer(world, command.target, command.kind)
    delay_level = _integer(command, "delay_level")
    if delay_level and role.spec.orderly:
        raise NoSuchTarget("refusal.orderly_has_no_delay_level", name=role.name)
    role.change_listener(_integer(command, "duration_ms"), ListenerResult(str(command.value["result"])), delay_level)


def _lock_switch(world: ScenarioWorld, command: Command) -> None:
    name, is_on = str(command.value["lock"]), bool(command.value["on"])
    roles = [role for role in world.nodes.values() if name in role.spec.switches]
    if command.target:
        target = find_node(world, command.target)
        if target not in roles:
            known = ", ".join(role.name for role in roles) or Text("words.none")
            raise NoSuchTarget("refusal.needs_switch", switch=name, name=target.name, role=target.role, known=known)
        roles = [target]
    else:
        _flip(world.switched_off, name, is_on)
    for role in roles:
        _flip(role.switched_off, name, is_on)
        role.apply_switches()


def _flip(switched_off: dict[str, None], name: str, is_on: bool) -> None:
    switched_off.pop(name, None)
    if not is_on:
        switched_off[name] = None


def _forced_unlock(world: ScenarioWorld, command: Command) -> None:
    role = _consumer(world, command.target, command.kind)
    _need(role, ("running", "paused"), Text("action.give_up_a_queue"))
    consumer, queue_id = role.consumer, _integer(command, "queue_id")
    queues = [
        queue for queue in (consumer.process_queues if consumer is not None else ()) if queue.queue_id == queue_id
    ]
    owned = [queue for queue in queues if queue.topic == role.spec.topic]
    if consumer is None or not owned:
        raise NoSuchTarget("refusal.not_its_queue", name=role.name, queue_id=queue_id, topic=role.spec.topic)
    for queue in owned:
        role.spawn(consumer.force_unlock(queue), "forced unlock")


def _setting(world: ScenarioWorld, command: Command) -> None:
    role = find_node(world, command.target)
    try:
        setting = find_setting(role.role, str(command.value["name"]))
        value = setting.check(command.value["value"])
        check_settings(role.role, {**role.settings, setting.name: value})
    except SettingRefused as error:
        raise CommandRefused(error.text) from error
    role.settings[setting.name] = value


def _queue_count(world: ScenarioWorld, command: Command) -> None:
    topic = command.target
    try:
        validate_topic(topic)
    except ProtocolError as error:
        raise NoSuchTarget("refusal.no_topic_name", problem=str(error)) from error
    running = [role for role in world.brokers() if role.status in ("running", "paused")]
    if not running:
        raise WrongNodeState("refusal.no_broker_runs")
    for role in running:
        role.spawn(role.change_queue_count(topic, _integer(command, "n")), "administrator")


def _half_message(world: ScenarioWorld, command: Command) -> None:
    role = _broker(world, command)
    _need(role, ("running",), Text("action.decide_half_messages"))
    act_on_half_message(role, command)


def _resend_dead_letter(world: ScenarioWorld, command: Command) -> None:
    role = _broker(world, command)
    _need(role, ("running",), Text("action.resend_dead_letters"))
    resend_dead_letter(role, command)


# --- links -----------------------------------------------------------------------------------------------------------


def _partition(world: ScenarioWorld, command: Command) -> None:
    left, right = (cast("tuple[str, ...]", command.value[side]) for side in ("left", "right"))
    for name in (*left, *right):
        find_node(world, name)
        if name in left and name in right:
            raise CommandRefused("refusal.on_both_sides", name=name)
    if len(world.link_faults.partitions) >= FAULTS_MAX:
        raise TooManyFaults("refusal.too_many_partitions", limit=FAULTS_MAX)
    partition = Partition(left, right, one_way=bool(command.value["one_way"]))
    world.link_faults.partitions.append(partition)
    world.lab.network.cut(partition)


def _heal(world: ScenarioWorld, command: Command) -> None:
    world.link_faults.heal()


def _heal_link(world: ScenarioWorld, command: Command) -> None:
    for source, target in _directions(world, command.target):
        world.link_faults.heal_link(source, target)


#: Kind -> what it sets of a link; a delay is given in ms and stored in us.
_OF_LINK = {
    "link-delay": "delay_us",
    "link-loss": "loss_ratio",
    "link-duplicate": "duplicate_ratio",
    "link-reorder": "reorder_ratio",
}


def _change_link(world: ScenarioWorld, command: Command) -> None:
    is_delay = command.kind == "link-delay"
    value = _integer(command, "ms") * 1_000 if is_delay else float(cast("float", command.value["ratio"]))
    for source, target in _directions(world, command.target):
        setattr(world.link_faults.poor_link(source, target), _OF_LINK[command.kind], value)


def _next_frame(world: ScenarioWorld, command: Command) -> None:
    waiting = world.link_faults.next_frames
    directions = _directions(world, command.target) if command.target else [("", "")]
    if len(directions) > 1:
        raise CommandRefused("refusal.one_frame_only", kind=command.kind)
    if len(waiting) >= FAULTS_MAX:
        raise TooManyFaults("refusal.too_many_frame_faults", limit=FAULTS_MAX)
    delays_us: dict[str, tuple[int, ...]] = {"drop-next": (), "duplicate-next": (0, 0)}
    if command.kind == "delay-next":
        delays_us["delay-next"] = (_integer(command, "ms") * 1_000,)
    waiting.append(NextFrameFault(str(command.value["frame"]), *directions[0], delays_us[command.kind]))


def _drop_frame(world: ScenarioWorld, command: Command) -> None:
    directions = _directions(world, command.target)
    if len(directions) > 1:
        raise CommandRefused("refusal.one_frame_only", kind=command.kind)
    due_us, index = _integer(command, "due_us"), _integer(command, "index")
    if not world.lab.network.drop_under_way(*directions[0], due_us, index):
        raise NoSuchTarget("refusal.no_frame_under_way", link=command.target, due_us=due_us, index=index)


# --- disks and actors ------------------------------------------------------------------------------------------------


def _storage(world: ScenarioWorld, command: Command) -> LabStorage:
    role = find_node(world, command.target)
    if not role.spec.has_disk:
        names = ", ".join(other.name for other in world.nodes.values() if other.spec.has_disk)
        raise NoSuchTarget("refusal.needs_disk", kind=command.kind, name=role.name, role=role.role, known=names)
    return world.disk_of(role.name)


def _at_disk(act: Callable[[LabStorage, Command], None], world: ScenarioWorld, command: Command) -> None:
    act(_storage(world, command), command)


def _at_broker(
    act: Callable[[ScenarioWorld, BrokerNode, Command], None], world: ScenarioWorld, command: Command
) -> None:
    act(world, _broker(world, command), command)


def _hold(world: ScenarioWorld, command: Command) -> None:
    world.loop.hold(find_actor(world, command.target), _integer(command, "ms") * 1_000)


def _release(world: ScenarioWorld, command: Command) -> None:
    world.loop.release(find_actor(world, command.target))


def _fire_timer(world: ScenarioWorld, command: Command) -> None:
    due_us, index, schedule = _integer(command, "due_us"), _integer(command, "index"), world.loop.schedule
    # A frame in flight over a link or through the network is not a timer: it would overtake what was sent before it.
    is_task = "/" in command.target and "->" not in command.target
    timers = [event for event in schedule.timers_due_at(due_us) if event.actor.name == command.target and is_task]
    if index >= len(timers):
        raise NoSuchTarget("refusal.no_timer", actor=command.target, due_us=due_us, index=index)
    schedule.fire_now(timers[index])


def _integer(command: Command, field: str) -> int:
    value = command.value[field]
    assert isinstance(value, int)
    return value


#: Type of target that is checked first. An action checks again, to get the target by its type.
_OF_TARGET: Mapping[Target, Callable[[ScenarioWorld, Command], object]] = {
    Target.BROKER: _broker,
    Target.CONSUMER: lambda world, command: _consumer(world, command.target, command.kind),
}

_ACTIONS: Mapping[str, Callable[[ScenarioWorld, Command], Any]] = {
    "add-consumer": _add_consumer,
    "change-membership": lambda world, command: change_membership(world, find_node(world, command.target)),
    "clock-skew": _clock_skew,
    "commit-half": _half_message,
    "crash": _crash,
    "crash-power": _crash_power,
    "delay-next": _next_frame,
    **{kind: partial(_at_disk, act) for kind, act in DISK_ACTIONS.items()},
    **dict.fromkeys(PEER_DAMAGES, lambda world, command: damage(world, find_node(world, command.target), command)),
    "drop-frame": _drop_frame,
    "drop-next": _next_frame,
    "duplicate-next": _next_frame,
    "fire-timer": _fire_timer,
    **{kind: partial(_at_broker, act) for kind, act in BROKER_ACTIONS.items()},
    "forced-unlock": _forced_unlock,
    "free-record": lambda world, command: free_record(find_node(world, command.target), command),
    "heal": _heal,
    "heal-link": _heal_link,
    "hold": _hold,
    "kill-consumer": _crash,
    "link-delay": _change_link,
    "link-duplicate": _change_link,
    "link-loss": _change_link,
    "link-reorder": _change_link,
    "listener": _listener,
    "lock-switch": _lock_switch,
    "partition": _partition,
    "pause-node": _pause,
    "queue-count": _queue_count,
    "release": _release,
    "resend-dead-letter": _resend_dead_letter,
    "restart": _restart,
    "resume-half": _half_message,
    "resume-node": _resume,
    "rollback-half": _half_message,
    "setting": _setting,
    "start-consumer": _restart,
    "resume-consumer": _resume_consumer,
    "stop-consumer": _stop_consumer,
    "torn-write": _crash_power,
}
