"""The witness of a world: the one place that records what happened in it."""

from __future__ import annotations

from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.scenario_node import WorldContext
from engine.lab.scenario.frame_names import FrameReader
from engine.lab.witness.broker_log import BrokerLog
from engine.lab.witness.deliveries import Deliveries
from engine.lab.witness.frame_log import FrameLog


class Witness:
    """The account of one world from its first event on, for checkers, narration, explanations, studies and pages.

    A world that is executed again has a witness of its own, which repeats the account. Frames are noted as they are
    sent, in bounded room. Deliveries and logs are read when something asks, from what the world keeps anyway: they are
    bounded by the events of a run, and cost nothing before.

    :ivar frames: what travelled over the links.
    :ivar deliveries: what listeners received.
    """

    def __init__(self, world: WorldContext, reader: FrameReader) -> None:
        self.frames = FrameLog(world.lab, reader)
        self.deliveries = Deliveries(world.history)
        self._broker_logs: dict[str, BrokerLog] = {}

    def broker_log(self, role: BrokerNode) -> BrokerLog:
        """Return the account of what that broker has stored; nothing is read before it is asked for."""
        if role.name not in self._broker_logs:
            self._broker_logs[role.name] = BrokerLog(role)
        return self._broker_logs[role.name]
