"""Metrics of a master's slaves."""

from __future__ import annotations

from app.metrics.exposition import MetricFamily
from app.observation.replication_view import replication_view
from engine.broker.broker import Broker


def replication_families(broker: Broker) -> list[MetricFamily]:
    """Return the metrics.

    The exporter has one figure for each broker name; here each slave has its own, by its address.
    """
    labels = (broker.config.cluster_name, broker.config.broker_name)
    names = ("cluster", "broker", "slave")
    diff = MetricFamily(
        "rocketmq_broker_commitlog_diff", "Bytes of the commit log that a slave has not confirmed.", names
    )
    seconds = MetricFamily(
        "glassmq_slave_behind_seconds", "Time since a slave last had the whole log; 0: it has it now.", names
    )
    view = replication_view(broker)
    for slave in view["slaves"] if view is not None else ():
        diff.add((*labels, slave["address"]), slave["behind_bytes"])
        seconds.add((*labels, slave["address"]), slave["behind_ms"] / 1_000)
    timeouts = MetricFamily("glassmq_slave_timeouts_total", "Senders that waited too long for slaves.", (), "counter")
    waited_for = broker.replication.majority or broker.replication.service
    timeouts.add((), 0 if waited_for is None else waited_for.timeouts)
    return [diff, seconds, timeouts]
