"""The witness of a world: the one place that records what happened in it."""

from __future__ import annotations

from engine.lab.nodes.scenario_node import WorldContext
from engine.lab.scenario.frame_names import FrameReader
from engine.lab.witness.deliveries import Deliveries
from engine.lab.witness.frame_log import FrameLog


class Witness:
    """The account of one world from its first event on, for checkers, narration, explanations, studies and pages.

    A world that is executed again has a witness of its own, which repeats the account.

    :ivar frames: what travelled over the links.
    :ivar deliveries: what listeners received.
    """

    def __init__(self, world: WorldContext, reader: FrameReader) -> None:
        self.frames = FrameLog(world.lab, reader)
        self.deliveries = Deliveries(world.history)
