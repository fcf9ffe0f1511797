"""Relevance to a viewer of a world: which frames and events are housekeeping, in one table for all parts that choose.

The event log and the sequence diagram hide housekeeping at first, time that adapts to what is shown does not slow down
for it, and the caption of the moment does not mention it. Tasks and labels are those of the journal
(``B1/hold service``, ``frame arrives``), requests have the names of :mod:`engine.lab.scenario.frame_names`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.faults.frame_subject import REPLY
from engine.lab.witness.frame_log import SentParcel

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

#: The newest frames that are watched in flight.
FRAMES_WATCHED = 512
#: Housekeeping tasks that run from time to time. If they do something, a frame or a named step shows it.
QUIET_TASKS = (
    "boot",
    "clean-files",
    "copy tables",
    "delay level ",
    "expired message cleaner",
    "flush-commit-log",
    "flush-commit-log-timer",
    "flush-consume-queues",
    "heartbeat",
    "heartbeat to the controller",
    "high watermarks",
    "hold service",
    "in-sync replicas",
    "missing route poller",
    "offset persister",
    "persist delay offsets",
    "persist filters",
    "persist offsets",
    "pull message service",
    "reads what the controller decides",
    "register",
    "report to master",
    "request scan",
    "reput",
    "route of ",
    "route poller",
    "sample groups",
    "scan brokers",
    "scan channels",
    "sessions of brokers",
    "slaves",
    "timeout scan",
    "trace worker",
    "write ",
)
#: Labels of events that mean nothing by themselves: a task wakes up, or continues.
QUIET_LABELS = (
    "connection closes",
    "connection opens",
    "connection request arrives",
    "goes on",
    "starts",
    "timer",
    "takes a pull request",
)
#: Requests that are repeated regularly; and single statements, until they are committed.
QUIET_REQUESTS = (
    "BROKER_HEARTBEAT",
    "BROKER_REGISTRATION",
    "GET_ALL_CONSUMER_OFFSET",
    "GET_ALL_DELAY_OFFSET",
    "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
    "GET_ALL_TOPIC_CONFIG",
    "GET_CONSUMER_LIST_BY_GROUP",
    "GET_ROUTEINFO_BY_TOPIC",
    "HA_HEARTBEAT",
    "HEART_BEAT",
    "QUERY_DATA_VERSION",
    "REGISTER_BROKER",
    "SQL_EXECUTE",
    "SQL_ROLLBACK",
    "UNREGISTER_BROKER",
    "UNREGISTER_CLIENT",
)
#: Frames that matter, but less than their effect.
LIGHT_REQUESTS = (
    "HA_PIECE",
    "HA_REPORT",
    "PULL_MESSAGE",
    "QUERY_CONSUMER_OFFSET",
    "UPDATE_CONSUMER_OFFSET",
    "NOTIFY_CONSUMER_IDS_CHANGED",
    "REDIS_COMMAND",
)


def is_event_relevant(actor: str, label: str) -> bool:
    """Return whether an entry of the journal concerns the purpose of the world."""
    return label not in QUIET_LABELS and is_task_relevant(actor)


def is_task_relevant(actor: str) -> bool:
    """Return whether ``actor`` is a link, or a task other than housekeeping."""
    _, _, task = actor.partition("/")
    return not any(task == quiet or (quiet.endswith(" ") and task.startswith(quiet)) for quiet in QUIET_TASKS)


def is_frame_relevant(name: str) -> bool:
    """Return whether a frame with this name matters; ``reply to X`` matters as X does."""
    return name.removeprefix(f"{REPLY} to ") not in QUIET_REQUESTS


def frames_in_flight(world: ScenarioWorld) -> list[tuple[SentParcel, str]]:
    """Return the frames in flight that matter, with the names of their requests, the next to arrive first."""
    sent = world.witness.frames
    flying = [frame for frame in sent.newest_frames(FRAMES_WATCHED) if frame.arrives_us > world.now_us]
    named = [(frame, sent.request_name_of(frame)) for frame in reversed(flying)]
    relevant = [(frame, name) for frame, name in named if name and is_frame_relevant(name)]
    return sorted(relevant, key=lambda one: one[0].arrives_us)
