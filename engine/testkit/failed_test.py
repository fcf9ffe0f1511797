"""What a failed test leaves of its broker: the frames it exchanged, and its topics and groups at the failure."""

from __future__ import annotations

from engine.broker.broker import Broker
from engine.faults.fault_injector import FaultInjector
from engine.faults.frame_file import FrameFile, frame_file
from engine.protocol.names import dlq_topic, is_system_topic
from engine.testkit.errors import TestKitError
from engine.testkit.failure_text import table
from engine.testkit.glassmq import GlassMQ
from engine.testkit.group_state import groups_of, progress_of
from engine.testkit.stored_messages import count_of


def recorded_frames(broker: GlassMQ) -> FrameFile | None:
    """Return the frames since the broker was last reset; None if it recorded none."""

    def recorded(injector: FaultInjector) -> FrameFile | None:
        record = injector.frame_record
        return None if record is None or not record.count else frame_file(record, broker.broker_address)

    return broker.at_gate(recorded)


def state_text(broker: GlassMQ) -> str:
    """Return the broker's topics and groups as tables."""
    try:
        return broker.ask(_state)
    except TestKitError as error:  # it is crashed or paused
        return str(error)


def _state(broker: Broker) -> str:
    topics = [(name, count_of(broker, name)) for name in broker.store.topics() if not is_system_topic(name)]
    groups = [
        (
            name,
            len(group.consumers),
            len(group.producers),
            sum(queue.lag for queue in progress_of(broker, name)),
            count_of(broker, dlq_topic(name)),
        )
        for name, group in groups_of(broker).items()
    ]
    parts = [
        table(("topic", "messages"), topics) if topics else "  no topic has messages",
        table(("group", "consumers", "producers", "lag", "dead letters"), groups) if groups else "  no groups",
    ]
    return "\n".join(parts)
