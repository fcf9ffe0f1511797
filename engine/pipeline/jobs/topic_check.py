"""A check of a job's topics before Spark starts: a misspelt name is reported in a second, not in a minute."""

from __future__ import annotations

from collections.abc import Mapping

from engine.pipeline.jobs.arguments import Argument, listed_names
from engine.pipeline.jobs.description import JobDescription, ParameterKind


def check_topics(
    description: JobDescription, arguments: Mapping[str, Argument], cluster_options: Mapping[str, str]
) -> None:
    """Check that the cluster answers and has the topics. Raises
    :class:`~engine.pipeline.source.cluster.errors.RocketMQError`.
    """
    from engine.pipeline.source.cluster.cluster import open_cluster

    for parameter in description.parameters:
        if parameter.kind is not ParameterKind.TOPICS or (parameter.unless and arguments[parameter.unless]):
            continue
        topics = listed_names(arguments[parameter.name])
        with open_cluster(cluster_options) as cluster:
            if parameter.may_be_missing:
                cluster.known(topics)
            else:
                cluster.queues(topics)
