"""``--set NODE.NAME=VALUE``: a setting that applies from the beginning, to one node or to all nodes of a role."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.foundation.option_types import usage_errors

if TYPE_CHECKING:
    from engine.lab.scenario.scenario import NodeSetting, Scenario


def settings_of(scenario: Scenario, changed: tuple[str, str, str]) -> list[NodeSetting]:
    """Return the settings of ``C1``, ``pull_interval_ms`` and ``100``, for example; the node may be ``producers``,
    ``consumers`` or ``raft_peers``. Raises ``click.UsageError``.
    """
    from engine.lab.scenario.errors import LabError
    from engine.lab.scenario.kinds.consumer import ConsumerSpec
    from engine.lab.scenario.kinds.node_spec import NodeSpec
    from engine.lab.scenario.kinds.producer import ProducerSpec
    from engine.lab.scenario.kinds.raft import RaftPeerSpec
    from engine.lab.sweep.comparison import parse_values

    node, name, value = changed
    kinds: dict[str, type[NodeSpec]] = {
        "producers": ProducerSpec,
        "consumers": ConsumerSpec,
        "raft_peers": RaftPeerSpec,
    }
    nodes = [spec.name for spec in scenario.of_kind(kinds[node])] if node in kinds else [node]
    with usage_errors(LabError, option=f"--set {node}.{name}"):
        return [(one, name, each) for one in nodes for each in parse_values(scenario, one, name, value)]
