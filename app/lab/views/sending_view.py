"""The sending state of a lab client: a producer, or a consumer that replies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.lab.scenario.traffic_spec import SendMode

if TYPE_CHECKING:
    from app.picture.world.producer import AvoidedBroker, MessageTrace, Permits, Requests, Sending
    from engine.client.trace.async_trace_dispatcher import AsyncTraceDispatcher
    from engine.lab.nodes.producer_node import ProducerNode


def sending_view(role: ProducerNode) -> Sending | None:
    """Return how a producer sends; None for one that only sends and waits."""
    modes = list(dict.fromkeys(traffic.mode for traffic in role.spec.traffic))
    avoids = bool(role.settings.get("send_latency_fault_enable"))
    if modes in ([], [SendMode.SYNC]) and not avoids:
        return None
    return {
        "modes": [mode.value for mode in modes],
        "permits": _permits(role) if SendMode.ASYNC in modes else None,
        "requests": _requests(role) if SendMode.REQUEST in modes else None,
        "avoided": _avoided(role) if avoids else None,
    }


def _permits(role: ProducerNode) -> Permits | None:
    if role.producer is None:
        return None
    permits = role.producer.permits
    return {"in_flight": permits.in_flight, "in_flight_max": permits.in_flight_max, "waiting": permits.waiting}


def _requests(role: ProducerNode) -> Requests:
    sender = role.sender
    waiting = 0 if role.producer is None else role.producer.requester.waiting
    return {"waiting": waiting, "replied": sender.replied, "not_replied": sender.not_replied}


def _avoided(role: ProducerNode) -> list[AvoidedBroker]:
    if role.producer is None:
        return []
    now_us = role.runtime.clock.monotonic_us()
    items = role.producer.fault_items.values()
    return [
        {
            "broker": item.broker_name,
            "latency_ms": item.current_latency_ms,
            "until_us": role.world.now_us + item.available_from_ms * 1_000 - now_us,
        }
        for item in items
        if item.available_from_ms * 1_000 > now_us
    ]


def trace_view(dispatcher: AsyncTraceDispatcher | None) -> MessageTrace | None:
    """Return the trace counters of a client; None without message trace."""
    if dispatcher is None:
        return None
    return {
        "noted": dispatcher.appended,
        "sent": dispatcher.sent,
        "dropped": dispatcher.discarded,
        "lost": dispatcher.lost,
    }
