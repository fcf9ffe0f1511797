"""The offsets of the judged groups at the broker, as evidence next to what their consumers reported."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from engine.pipeline.source.cluster.cluster import open_cluster
from engine.pipeline.source.cluster.errors import RocketMQError

log = logging.getLogger("glassmq.pipeline")


def group_offsets(
    cluster_options: Mapping[str, str], pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, int]]:
    """Return (group, topic) -> queue -> the offset that the group has committed.

    A group whose offsets the account may not read is left out, and all are while a node is away: less is known then.
    """
    found: dict[tuple[str, str], dict[str, int]] = {}
    with open_cluster(cluster_options) as cluster:
        for group, topic in pairs:
            try:
                offsets = cluster.group_offsets(group, cluster.queues([topic]))
            except RocketMQError as error:
                log.warning("the offsets of group %s are not known: %s", group, error.text)
                continue
            found[group, topic] = {queue.label: offset for queue, offset in offsets.items()}
    return found
