"""A table of topics on a lab node's disk."""

from __future__ import annotations

import json

from engine.broker.tables.config_table import ConfigTable
from engine.protocol.body.topic_config import TopicConfig
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.config_file import ConfigFile

PATH = "config/topics.json"


class TableLab:
    """A table on a lab node's disk; ``writes`` are the contents that came to the disk."""

    def __init__(self, world: LabMachines, max_entries: int = 100) -> None:
        self.world = world
        self.node = world.node("broker-a")
        self.disk = self.node.disk
        self.writes: list[dict] = []
        self.write_unseen = write_whole = self.disk.write_whole

        def watched(path: str, data: bytes) -> None:
            write_whole(path, data)
            if path == PATH:
                self.writes.append(json.loads(data))

        self.disk.write_whole = watched
        self.table = ConfigTable[TopicConfig](
            ConfigFile(self.disk, PATH), "topicConfigTable", "topics", self.node.clock, max_entries, 1_000
        )

    def run(self, work):
        return self.world.run(work, node="broker-a")

    @property
    def saved(self) -> list[str]:
        return sorted(self.writes[-1]["topicConfigTable"]) if self.writes else []


def topic(name: str, queues: int = 4) -> TopicConfig:
    return TopicConfig(name, queues, queues)
