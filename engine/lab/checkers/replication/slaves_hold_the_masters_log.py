"""Checker: a slave's log is a prefix of its master's log.

Anomaly: *ghost read*. A consumer of the slave sees what the master never had at that place.

Fault model: any. What a power cut took from the master, before it was flushed there, a slave may still hold; it may
hold nothing else there, so it must not follow a master that has continued without it.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_slaves
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly


class SlavesHoldTheMastersLog(Checker):
    """Check that slaves hold a prefix of the master's log."""

    name = "slaves-hold-the-masters-log"
    anomaly = Anomaly.GHOST_READ
    applies = staticmethod(has_slaves)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: Slave -> how many of its messages were compared.
        self._compared: dict[str, int] = {}

    def second_passed(self) -> None:
        for name, slave in self.watch.slaves.items():
            master = self.watch.brokers[slave.spec.slave_of]
            done = min(self._compared.get(name, 0), len(slave.messages))
            for message in slave.messages[done:]:
                place = message.commit_log_offset
                theirs = master.log.get(place)
                same = theirs is not None and theirs.first_key == message.first_key
                if not same and (place, message.first_key) not in master.lost and place >= master.min_offset:
                    self.report(
                        {"node": name, "commit_log_offset": place, "message": message.first_key},
                        self.text("other", key=message.first_key, slave=name, offset=place),
                    )
            self._compared[name] = len(slave.messages)

    def run_ended(self) -> None:
        self.second_passed()
