"""Checker: what a producer was told is stored, is stored.

Anomaly: *lost write*. A send was answered with SEND_OK and the message is not where the answer said, or a message was
in the log and is gone.

Fault model. A crash of the process takes nothing that was appended, in either flush mode: the page cache outlives the
process. A power cut may take what was not flushed: with asynchronous flush that is up to 500 ms and more of
acknowledged messages (RocketMQ promises no better without a slave); with synchronous flush never a message that was
acknowledged with SEND_OK. FLUSH_DISK_TIMEOUT promises as little as asynchronous flush. Copies of messages that a
consumer gave back (retry, dead letter) and of delayed messages are stored without waiting for the disk
(``waitStoreMsgOK`` is false), as in RocketMQ: a power cut may take them in both modes. Expired files may go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.lab.checkers.broker_watch import BrokerWatch
from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.logged_message import LoggedMessage
from engine.lab.checkers.violation import Anomaly
from engine.protocol.message_id import decode_offset_message_id

if TYPE_CHECKING:
    from engine.lab.checkers.cluster_watch import ClusterWatch
    from engine.lab.history import SendReturned

_SEND_OK = "SEND_OK"


class AcknowledgedMessagesAreStored(Checker):
    """See the module."""

    name = "acknowledged-messages-are-stored"
    anomaly = Anomaly.LOST_WRITE
    title: ClassVar[Texts] = {"en": "Acknowledged messages are stored", "zh": "已确认的消息都已存储"}
    why: ClassVar[Texts] = {
        "en": "SEND_OK is a promise. A process crash may not break it; a power cut may, if the flush is asynchronous.",
        "zh": "SEND_OK 是一个承诺：进程崩溃不能打破它；断电可以，除非采用同步刷盘。",
    }

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: (broker, commit-log offset, key) of messages acknowledged by a broker with synchronous flush.
        self._durable: dict[tuple[str, int, str], None] = {}
        #: Answers that arrived while their broker was down: looked at when it is back.
        self._pending: dict[str, list[SendReturned]] = {}

    def send_returned(self, entry: SendReturned) -> None:
        """A producer got its answer."""
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
        """Look for what was acknowledged meanwhile."""
        for entry in self._pending.pop(broker.name, ()):
            self._check(broker, entry)

    def message_lost(self, message: LoggedMessage, is_lawful: bool) -> None:
        """A message did not survive a crash."""
        identity = (message.broker, message.commit_log_offset, message.first_key)
        if identity in self._durable:
            en = "was acknowledged after a synchronous flush and is gone after the crash"
            zh = "在同步刷盘之后被确认，但崩溃之后不见了"
        elif not is_lawful:
            en = "was in the commit log (flushed, or only the process crashed) and is gone"
            zh = "曾在提交日志中（已刷盘，或只是进程崩溃），现在不见了"
        else:
            return
        self._report(message.broker, message.commit_log_offset, message.first_key, en, zh)

    def _check(self, broker: BrokerWatch, entry: SendReturned) -> None:
        offset = decode_offset_message_id(entry.offset_message_id)[1]
        message = broker.log.get(offset)
        is_durable = entry.detail == _SEND_OK and self._flushes_synchronously(broker)
        if message is not None and message.first_key == entry.key:
            if is_durable:
                self._durable[broker.name, offset, entry.key] = None
                if message.end_offset > broker.flushed_offset:
                    en, zh = "was acknowledged before it was flushed", "在刷盘之前就被确认了"
                    self._report(broker.name, offset, entry.key, en, zh)
            if message.topic == entry.topic and (message.queue_id, message.queue_offset) != (
                entry.queue_id,
                entry.queue_offset,
            ):
                en = f"is at offset {message.queue_offset} of queue {message.queue_id}; its producer was told otherwise"
                zh = f"位于队列 {message.queue_id} 的偏移量 {message.queue_offset}，与告知生产者的不同"
                self._report(broker.name, offset, entry.key, en, zh)
        elif ((offset, entry.key) not in broker.lost or is_durable) and offset >= broker.min_offset:
            en, zh = "was acknowledged and is not in the commit log", "已被确认，但不在提交日志中"
            self._report(broker.name, offset, entry.key, en, zh)

    def _flushes_synchronously(self, broker: BrokerWatch) -> bool:
        return self.world.nodes[broker.name].spec.flush == "sync"

    def _report(self, broker: str, offset: int, key: str, en: str, zh: str) -> None:
        self.report(
            {"node": broker, "commit_log_offset": offset, "message": key},
            (key,),
            f"Message {key} at commit-log offset {offset} of {broker} {en}.",
            f"{broker} 提交日志偏移量 {offset} 处的消息 {key} {zh}。",
        )
