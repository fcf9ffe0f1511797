"""Checker: a message that a SYNC_MASTER acknowledged with SEND_OK is on as many slaves as it is configured to wait for.

Anomaly: *lost write*, as soon as the master's machine is gone.

Fault model: any. FLUSH_SLAVE_TIMEOUT and SLAVE_NOT_AVAILABLE promise nothing, nor does an ASYNC_MASTER, or a message
that did not want to wait. A slave whose power is cut may lose what it had not flushed.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_slaves
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.history import SendReturned
from engine.protocol.message.message_id import decode_offset_message_id

_SEND_OK = "SEND_OK"


class AcknowledgedMessagesAreCopied(Checker):
    """Check that acknowledged messages are copied."""

    name = "acknowledged-messages-are-copied"
    anomaly = Anomaly.LOST_WRITE
    applies = staticmethod(has_slaves)

    def send_returned(self, entry: SendReturned) -> None:
        if entry.status != "ok" or entry.detail != _SEND_OK:
            return
        role = self.world.find(BrokerNode, entry.broker)
        if role is None or role.broker is None:
            return
        service = role.broker.replication.service
        if service is None or not role.broker.replication.is_sync_master:
            return
        offset = decode_offset_message_id(entry.offset_message_id)[1]
        holders = [
            slave.name
            for slave in self.watch.slaves.values()
            if slave.spec.slave_of == entry.broker
            and ((offset, entry.key) in slave.lost or _holds(slave.log.get(offset), entry.key))
        ]
        if len(holders) < service.config.slaves_needed:
            self.report(
                {"node": entry.broker, "commit_log_offset": offset, "message": entry.key},
                self.text(
                    "missing",
                    key=entry.key,
                    master=entry.broker,
                    needed=service.config.slaves_needed,
                    holders=len(holders),
                ),
            )


def _holds(message: object, key: str) -> bool:
    return message is not None and getattr(message, "first_key", "") == key
