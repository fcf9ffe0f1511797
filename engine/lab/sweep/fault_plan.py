"""Random faults of a seed: what breaks when, and when it is repaired.

Drawn from ``Random(f"{seed}:faults")`` within the scenario's fault model. Faults begin while there is traffic and are
all over by :data:`FAULTS_OVER_AT` of the story, so that the rest shows whether the cluster comes back to order.

In a scenario with work they begin from the first message on, and break links where messages and work travel
(:mod:`engine.lab.sweep.message_links`): there the question is what becomes of the work.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from engine.lab.scenario.kinds.broker import BrokerSpec
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec
from engine.lab.scenario.kinds.node_kinds import NODE_KINDS
from engine.lab.scenario.kinds.node_spec import SendingSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.kinds.raft import RaftClientSpec, RaftPeerSpec
from engine.lab.scenario.kinds.xa import ManagerSpec, ResourceManagerSpec
from engine.lab.scenario.scenario import FaultKind, Scenario
from engine.lab.sweep.message_links import message_links
from engine.replication.raft.raft_commands import COMMAND_NAME
from engine.replication.raft.raft_messages import FRAME_NAMES as RAFT_FRAMES
from engine.xa.request_codes import XaRequestCode

#: Share of the story after which nothing is broken any more.
FAULTS_OVER_AT = 0.3
#: Faults begin until this long after the last message is due to be sent.
_AFTER_TRAFFIC_MS = 5_000
#: The same for scenarios with work: nearly all of it is done by then.
_AFTER_TRAFFIC_WITH_WORK_MS = 2_000
#: How long a fault lasts: from a moment to longer than most timeouts, with short and long ones equally likely.
_SHORTEST_MS = 20
_LONGEST_MS = 20_000

#: Frames worth losing or doubling by name, because a protocol depends on each.
_FRAMES = (
    "CONSUMER_SEND_MSG_BACK",
    "GET_CONSUMER_LIST_BY_GROUP",
    "HEART_BEAT",
    "NOTIFY_CONSUMER_IDS_CHANGED",
    "PULL_MESSAGE",
    "QUERY_CONSUMER_OFFSET",
    "SEND_MESSAGE_V2",
    "UPDATE_CONSUMER_OFFSET",
    "reply to CONSUMER_SEND_MSG_BACK",
    "reply to PULL_MESSAGE",
    "reply to QUERY_CONSUMER_OFFSET",
    "reply to SEND_MESSAGE_V2",
)
#: Further frames if messages are sent in batches.
_BATCH_FRAMES = ("SEND_BATCH_MESSAGE", "reply to SEND_BATCH_MESSAGE")
#: Frames if messages are sent in transactions.
_TRANSACTION_FRAMES = (*_FRAMES, "END_TRANSACTION", "CHECK_TRANSACTION_STATE")
#: Frames of a two-phase commit, and their answers.
_XA_FRAMES = tuple(name for code in XaRequestCode for name in (code.name, f"reply to {code.name}"))
#: Frames of Kafka's clients.
_KAFKA_FRAMES = ("PRODUCE", "FETCH", "OFFSET_COMMIT", "reply to PRODUCE", "reply to FETCH", "reply to OFFSET_COMMIT")
#: Frames of a Raft group and its clients.
_RAFT_FRAMES = (*RAFT_FRAMES, COMMAND_NAME, f"reply to {COMMAND_NAME}")


#: Faults that only members of a Raft group must survive: they keep copies for each other.
_OF_RAFT_PEERS = (FaultKind.WIPE, FaultKind.FLIP, FaultKind.LAST_SECOND)


class PlannedCommand(NamedTuple):
    """A command at a virtual time, as :func:`~engine.lab.scenario.command.parse_command` reads it.

    ``begins``: the kind of fault that begins with it; None: it ends one, or repairs something.
    """

    time_ms: int
    command: Mapping[str, Any]
    begins: FaultKind | None = None


class PlannedFault(NamedTuple):
    """One fault: what begins it, and what ends it unless it is momentary."""

    begin: PlannedCommand
    end: PlannedCommand | None


def draw_faults(scenario: Scenario, seed: int) -> tuple[PlannedFault, ...]:
    """Return the faults of one seed, in the order in which they were drawn."""
    chance = random.Random(f"{seed}:faults")
    model = scenario.fault_model
    has_group = len(scenario.of_kind(RaftPeerSpec)) > 1
    kinds = [kind for kind in model.kinds if has_group or kind not in _OF_RAFT_PEERS]
    if not kinds or not model.max_faults:
        return ()
    over_ms = _over_ms(scenario)
    begin_from_ms, begin_until_ms = _begin_between_ms(scenario, over_ms)
    faults: list[PlannedFault] = []
    for _ in range(chance.randint(1, model.max_faults)):
        begin_ms = chance.randint(begin_from_ms, max(begin_from_ms, begin_until_ms))
        end_ms = min(over_ms, begin_ms + round(_SHORTEST_MS * (_LONGEST_MS / _SHORTEST_MS) ** chance.random()))
        kind = chance.choice(kinds)
        begin, end = _FAULTS[kind](chance, scenario)
        faults.append(
            PlannedFault(PlannedCommand(begin_ms, begin, kind), None if end is None else PlannedCommand(end_ms, end))
        )
    return tuple(faults)


def lay_out(scenario: Scenario, faults: Sequence[PlannedFault]) -> list[PlannedCommand]:
    """Return the commands of these faults in the order of time, and then the repairs; empty without faults."""
    if not faults:
        return []
    plan = [planned for fault in faults for planned in fault if planned is not None]
    plan.sort(key=lambda planned: planned.time_ms)
    return plan + [PlannedCommand(_over_ms(scenario), command) for command in _put_right(scenario)]


def _over_ms(scenario: Scenario) -> int:
    return round(scenario.duration_ms * FAULTS_OVER_AT)


def _begin_between_ms(scenario: Scenario, over_ms: int) -> tuple[int, int]:
    if not scenario.has_work:
        return 1, min(over_ms, _traffic_end_ms(scenario, over_ms) + _AFTER_TRAFFIC_MS)
    traffics = [one for spec in scenario.of_kind(SendingSpec) for one in spec.traffic if one.start_ms < over_ms]
    first_ms = min((one.start_ms for one in traffics), default=1)
    last_ms = max((one.start_ms + (one.sends - 1) * one.every_ms for one in traffics), default=0)
    return max(1, first_ms), min(over_ms, last_ms + _AFTER_TRAFFIC_WITH_WORK_MS)


def _traffic_end_ms(scenario: Scenario, over_ms: int) -> int:
    """Return when the last message is due; traffic that begins when the faults are over shows what they left."""
    ends = [
        traffic.start_ms + traffic.sends * traffic.every_ms
        for spec in (*scenario.of_kind(ProducerSpec), *scenario.of_kind(RaftClientSpec))
        for traffic in spec.traffic
        if traffic.start_ms < over_ms
    ]
    ends += [
        spec.transfers.start_ms + spec.transfers.count * spec.transfers.every_ms
        for spec in scenario.of_kind(ManagerSpec)
        if spec.transfers is not None and spec.transfers.start_ms < over_ms
    ]
    return max(ends, default=0)


def _put_right(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the commands that end whatever is still broken; those that do not apply are refused and left out."""
    commands: list[dict[str, Any]] = [{"kind": "heal"}]
    for spec in scenario.nodes:
        commands.append({"kind": "resume-node", "target": spec.name})
        if spec.has_disk:
            commands.append({"kind": "disk-free", "target": spec.name})
        commands += [{"kind": kind, "target": spec.name, **fields} for kind, fields in spec.usual.items()]
        if spec.life_ms[1] is None:
            commands.append({"kind": "restart", "target": spec.name})
    return commands


# --- kinds -----------------------------------------------------------------------------------------------------------

#: What begins a fault, and what ends it.
_Fault = tuple[dict[str, Any], dict[str, Any] | None]


def _node(chance: random.Random, scenario: Scenario) -> str:
    return chance.choice(scenario.nodes).name


def _link(chance: random.Random, scenario: Scenario) -> str:
    """Return one direction or both of a link that is used: one of its ends is a server."""
    if scenario.has_work:
        used = chance.choice(message_links(scenario))
        return used.source + chance.choice(("->", "->", "<->")) + used.target
    # In the order of the table: the same random numbers choose the same servers whatever the order in the text.
    kinds = [kind.spec for kind in NODE_KINDS.values() if kind.spec.is_server]
    server = chance.choice([spec for kind in kinds for spec in scenario.of_kind(kind)]).name
    other = chance.choice([spec.name for spec in scenario.nodes if spec.name != server])
    return chance.choice((f"{server}->{other}", f"{other}->{server}", f"{server}<->{other}"))


def _frames(scenario: Scenario) -> tuple[str, ...]:
    if scenario.has_work:
        return tuple(dict.fromkeys(frame for used in message_links(scenario) for frame in used.frames))
    has_branches = bool(scenario.of_kind(ResourceManagerSpec))
    has_batches = any(traffic.batch > 1 for spec in scenario.of_kind(ProducerSpec) for traffic in spec.traffic)
    frames: tuple[str, ...] = _TRANSACTION_FRAMES if scenario.sends_in_transactions else _FRAMES
    frames += (_XA_FRAMES if has_branches else ()) + (_BATCH_FRAMES if has_batches else ())
    if scenario.of_kind(RaftPeerSpec):
        return _RAFT_FRAMES + (frames if scenario.of_kind(BrokerSpec) else ())
    if scenario.of_kind(KafkaBrokerSpec):
        return _KAFKA_FRAMES + (frames if scenario.of_kind(BrokerSpec) else ())
    return frames


def _frames_of(direction: str, scenario: Scenario) -> tuple[str, ...]:
    if not scenario.has_work:
        return _frames(scenario)
    return next(used.frames for used in message_links(scenario) if f"{used.source}->{used.target}" == direction)


def _crash(chance: random.Random, scenario: Scenario) -> _Fault:
    node = _node(chance, scenario)
    return {"kind": "crash", "target": node}, {"kind": "restart", "target": node}


def _crash_power(chance: random.Random, scenario: Scenario) -> _Fault:
    node = _node(chance, scenario)
    torn = chance.random() < 0.5
    return {"kind": "crash-power", "target": node, "torn": torn}, {"kind": "restart", "target": node}


def _pause(chance: random.Random, scenario: Scenario) -> _Fault:
    node = _node(chance, scenario)
    return {"kind": "pause-node", "target": node}, {"kind": "resume-node", "target": node}


def _partition(chance: random.Random, scenario: Scenario) -> _Fault:
    names = [spec.name for spec in scenario.nodes]
    chance.shuffle(names)
    cut = chance.randint(1, len(names) - 1)
    one_way = chance.random() < 0.3
    return {"kind": "partition", "left": names[:cut], "right": names[cut:], "one_way": one_way}, {"kind": "heal"}


def _delay(chance: random.Random, scenario: Scenario) -> _Fault:
    link = _link(chance, scenario)
    delay_ms = round(10 * 500 ** chance.random())
    if chance.random() < 0.3:
        direction = link.replace("<->", "->")
        frame = chance.choice(_frames_of(direction, scenario))
        return {"kind": "delay-next", "target": direction, "frame": frame, "ms": delay_ms}, None
    return {"kind": "link-delay", "target": link, "ms": delay_ms}, {"kind": "link-delay", "target": link, "ms": 0}


def _share_or_next(chance: random.Random, scenario: Scenario, share: str, one: str) -> _Fault:
    """Return a fault for a share of all frames of a link, or for the next frame of one kind."""
    if chance.random() < 0.5:
        return {"kind": one, "frame": chance.choice(_frames(scenario))}, None
    link = _link(chance, scenario)
    ratio = round(0.02 * 25 ** chance.random(), 3)
    return {"kind": share, "target": link, "ratio": ratio}, {"kind": share, "target": link, "ratio": 0.0}


def _reorder(chance: random.Random, scenario: Scenario) -> _Fault:
    link = _link(chance, scenario)
    return (
        {"kind": "link-reorder", "target": link, "ratio": round(chance.random() / 2, 3)},
        {"kind": "link-reorder", "target": link, "ratio": 0.0},
    )


def _clock_skew(chance: random.Random, scenario: Scenario) -> _Fault:
    node = _node(chance, scenario)
    skew_ms = round(10 * 6_000 ** chance.random()) * chance.choice((1, -1))
    return {"kind": "clock-skew", "target": node, "ms": skew_ms}, {"kind": "clock-skew", "target": node, "ms": 0}


def _disk(chance: random.Random, scenario: Scenario) -> _Fault:
    node = chance.choice([spec for spec in scenario.nodes if spec.has_disk])
    slow = [spec.name for spec in scenario.nodes if "slow-fsync" in spec.usual]
    if not slow or chance.random() < 0.5:
        return {"kind": "disk-full", "target": node.name}, {"kind": "disk-free", "target": node.name}
    name = node.name if node.name in slow else chance.choice(slow)
    return (
        {"kind": "slow-fsync", "target": name, "ms": chance.randint(100, 8_000)},
        {"kind": "slow-fsync", "target": name, **scenario.node(name).usual["slow-fsync"]},
    )


def _damaged(chance: random.Random, scenario: Scenario, kind: str, **fields: Any) -> _Fault:
    # One peer keeps its disk: data that every peer has lost cannot be restored.
    peer = chance.choice(scenario.of_kind(RaftPeerSpec)[1:]).name
    return {"kind": kind, "target": peer, **fields}, {"kind": "restart", "target": peer}


def _flip(chance: random.Random, scenario: Scenario) -> _Fault:
    # Near the end as often as anywhere before.
    bit = round(8 * 2_000 ** chance.random()) + chance.randrange(8)
    return _damaged(chance, scenario, chance.choice(("flip-in-log", "flip-in-state")), bit=bit)


def _listener(chance: random.Random, scenario: Scenario) -> _Fault:
    spec = chance.choice([one for one in scenario.nodes if "listener" in one.usual] or scenario.nodes)
    result = chance.choice(("success", "success", "later", "throws", "hangs"))
    duration_ms = round(5 * 1_000 ** chance.random())
    target = {"kind": "listener", "target": spec.name}
    return {**target, "result": result, "duration_ms": duration_ms}, {**target, **spec.usual.get("listener", {})}


def _group(chance: random.Random, scenario: Scenario) -> _Fault:
    consumer = chance.choice(scenario.of_kind(ConsumerSpec) or scenario.nodes).name
    topic = chance.choice(scenario.topics) if scenario.topics else None
    start = {"kind": "start-consumer", "target": consumer}
    match chance.choice(("joins", "leaves", "killed", "queues")):
        case "joins":
            name = f"Extra{chance.randint(1, 999)}"
            return {"kind": "add-consumer", "target": name, "like": consumer}, {"kind": "stop-consumer", "target": name}
        case "queues" if topic is not None:
            return {"kind": "queue-count", "target": topic.name, "n": topic.queues + chance.randint(1, 4)}, None
        case "killed":
            return {"kind": "kill-consumer", "target": consumer}, start
        case _:
            return {"kind": "stop-consumer", "target": consumer}, start


_FAULTS: Mapping[FaultKind, Callable[[random.Random, Scenario], _Fault]] = {
    FaultKind.CRASH: _crash,
    FaultKind.CRASH_POWER: _crash_power,
    FaultKind.PAUSE: _pause,
    FaultKind.PARTITION: _partition,
    FaultKind.DELAY: _delay,
    FaultKind.LOSS: partial(_share_or_next, share="link-loss", one="drop-next"),
    FaultKind.DUPLICATE: partial(_share_or_next, share="link-duplicate", one="duplicate-next"),
    FaultKind.REORDER: _reorder,
    FaultKind.CLOCK_SKEW: _clock_skew,
    FaultKind.DISK: _disk,
    FaultKind.WIPE: partial(_damaged, kind="wipe"),
    FaultKind.FLIP: _flip,
    FaultKind.LAST_SECOND: partial(_damaged, kind="lose-last-second"),
    FaultKind.LISTENER: _listener,
    FaultKind.GROUP: _group,
}
