"""Checker: a message that a producer knows to be stored is stored.

Anomaly: *lost write*. A send was answered with SEND_OK and the message is not where the answer said, or a message was
in the log and is gone.

Fault model. A crash of the process loses nothing that was appended, in either flush mode: the page cache outlives the
process. A power cut may lose what was not flushed: with asynchronous flush that is up to 500 ms and more of
acknowledged messages (RocketMQ promises no better without a slave); with synchronous flush never a message that was
acknowledged with SEND_OK. FLUSH_DISK_TIMEOUT promises as little as asynchronous flush. Copies of messages that a
consumer gave back (retry, dead letter) and of delayed messages are stored without waiting for the disk
(``waitStoreMsgOK`` is false), as in RocketMQ: a power cut may lose them in both modes. Expired files may be deleted.
"""

from __future__ import annotations

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import SendReturned
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.message.message_id import decode_offset_message_id
from engine.texts import Text

_SEND_OK = "SEND_OK"


class AcknowledgedMessagesAreStored(Checker):
    """Check that acknowledged messages are stored."""

    name = "acknowledged-messages-are-stored"
    anomaly = Anomaly.LOST_WRITE

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (broker, commit-log offset, key) of messages acknowledged by a broker with synchronous flush.
        self._durable: dict[tuple[str, int, str], None] = {}
        #: Answers that arrived while their broker was down, checked when it is back.
        self._pending: dict[str, list[SendReturned]] = {}

    def send_returned(self, entry: SendReturned) -> None:
        if entry.status != "ok":
            return
        broker = self.watch.brokers.get(entry.broker)
        if broker is None:
            return
        if broker.is_up:
            self._check(broker, entry)
        else:
            self._pending.setdefault(entry.broker, []).append(entry)

    def broker_loaded(self, broker: BrokerWatch) -> None:
        for entry in self._pending.pop(broker.name, ()):
            self._check(broker, entry)

    def message_lost(self, message: LoggedMessage, is_lawful: bool) -> None:
        identity = (message.broker, message.commit_log_offset, message.first_key)
        if identity in self._durable:
            what = self.text("gone_after_flush")
        elif not is_lawful:
            what = self.text("gone")
        else:
            return
        self._report(message.broker, message.commit_log_offset, message.first_key, what)

    def _check(self, broker: BrokerWatch, entry: SendReturned) -> None:
        offset = decode_offset_message_id(entry.offset_message_id)[1]
        message = broker.log.get(offset)
        is_durable = entry.detail == _SEND_OK and broker.spec.flush == "sync"
        if message is not None and message.first_key == entry.key:
            if is_durable:
                self._durable[broker.name, offset, entry.key] = None
                if message.end_offset > broker.flushed_offset:
                    what = self.text("not_flushed")
                    self._report(broker.name, offset, entry.key, what)
            if message.topic == entry.topic and (message.queue_id, message.queue_offset) != (
                entry.queue_id,
                entry.queue_offset,
            ):
                what = self.text("elsewhere", message=message)
                self._report(broker.name, offset, entry.key, what)
        elif ((offset, entry.key) not in broker.lost or is_durable) and offset >= broker.min_offset:
            self._report(broker.name, offset, entry.key, self.text("not_there"))

    def _report(self, broker: str, offset: int, key: str, what: Text) -> None:
        self.report(
            {"node": broker, "commit_log_offset": offset, "message": key},
            self.text("found", key=key, offset=offset, broker=broker, what=what),
        )
