"""The master's end of the connection to one slave (RocketMQ: ``HAConnection``).

    WAITS ---report---> SENDS ---silence, close---> ENDED
      +-----------refused report--------------------^

RocketMQ has two threads for each slave, and a full socket buffer blocks the sender. Here one object reacts to reports,
to growth of the log and to a timer; the bytes that the slave has not confirmed are bounded by a window.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum

from engine.replication.ha.ha_config import HaConfig
from engine.replication.ha.ha_frames import PIECE_MAX_BYTES, ReportSplitter, decode_report, encode_piece
from engine.runtime.port import Clock, Connection
from engine.runtime.state_table import successor
from engine.store.log.commit_log import CommitLog

_log = logging.getLogger("glassmq.replication")

#: Most bytes sent to a slave and not yet confirmed: the size of its read buffer.
WINDOW_BYTES = PIECE_MAX_BYTES


class SlaveState(Enum):
    """State of the connection to a slave."""

    WAITS = "waits for the first report"
    SENDS = "sends the log"
    ENDED = "ended"


_NEXT = {
    SlaveState.WAITS: (SlaveState.SENDS, SlaveState.ENDED),
    SlaveState.SENDS: (SlaveState.ENDED,),
}


class HaConnection:
    """Send the log to one slave; a ``FrameHandler`` of the runtime port.

    :param acknowledged: called when the slave has reported a new end.
    :param ended: called once, when the connection no longer counts. Bytes that the slave has not read yet may keep the
        socket open for longer.
    :param refusal: given the slave's address, returns why it may not have the log; None: it may.
    :ivar begin_offset: the first byte sent on this connection. The slave's bytes before it may be different ones: an
        empty slave begins with the newest file, and a master may have lost the end of its log and continued.
    :ivar next_offset: the next byte to send.
    :ivar acknowledged_offset: the end of the slave's log in its last report; -1: it has not reported yet.
    :ivar caught_up_ms: when the slave last had everything.
    """

    def __init__(
        self,
        log: CommitLog,
        clock: Clock,
        config: HaConfig,
        acknowledged: Callable[[], None],
        ended: Callable[[HaConnection], None],
        refusal: Callable[[str], str | None] = lambda address: None,
    ) -> None:
        self.splitter = ReportSplitter()
        self.state = SlaveState.WAITS
        self.address = ""
        self.begin_offset = self.next_offset = 0
        self.acknowledged_offset = -1
        self.caught_up_ms = clock.now_ms()
        self._log = log
        self._clock = clock
        self._config = config
        self._acknowledged = acknowledged
        self._ended = ended
        self._refusal = refusal
        self._connection: Connection
        self._heard_us = self._said_us = clock.monotonic_us()

    # --- the port's FrameHandler -------------------------------------------------------------------------------------

    def connection_made(self, connection: Connection) -> None:
        """Note that a slave has connected."""
        self._connection = connection
        self.address = connection.remote_address
        refusal = self._refusal(self.address)
        if refusal is not None:
            self._end(f"is refused: {refusal}")

    def frame_received(self, frame: bytes) -> None:
        """Handle the slave's report of the end of its log."""
        if self.state is SlaveState.ENDED:
            return
        self._heard_us = self._clock.monotonic_us()
        offset = decode_report(frame)
        if self.state is SlaveState.WAITS:
            refusal = self._begin(offset)
        elif offset != self.acknowledged_offset and not self.confirmed_offset <= offset <= self.next_offset:
            refusal = (
                f"it reports {offset}, after {self.acknowledged_offset}; it was sent bytes {self.begin_offset} to "
                f"{self.next_offset}"
            )
        else:
            refusal = None
            self.acknowledged_offset = offset
        if refusal is not None:
            self._end(f"cannot follow: {refusal}")
            return
        self._note_caught_up()
        self._acknowledged()
        self.send_more()

    def connection_lost(self, reason: str) -> None:
        """Note that the slave has disconnected."""
        self._end(f"is gone: {reason}")

    def _end(self, what: str) -> None:
        if self.state is not SlaveState.ENDED:
            _log.warning("slave %s %s", self.address, what)
            self._go(SlaveState.ENDED)
            self._ended(self)
            self._connection.close()

    # --- sending -----------------------------------------------------------------------------------------------------

    def _begin(self, offset: int) -> str | None:
        """Begin at the offset of the first report; return why that is impossible, or None."""
        log = self._log
        if offset > log.max_offset:
            return f"its log ends at {offset}, this one at {log.max_offset}: the rest was never here, or is lost"
        if 0 < offset < log.min_offset:
            return f"its log ends at {offset}, and this one begins at {log.min_offset}: begin it with an empty folder"
        if offset < 0:
            return f"it reports {offset}; allowed: 0 and more"
        # As in RocketMQ, an empty slave begins with the newest file, not with the oldest.
        self.begin_offset = offset or (log.files.files[-1].start_offset if log.files.files else 0)
        self.next_offset, self.acknowledged_offset = self.begin_offset, offset
        self._go(SlaveState.SENDS)
        _log.info("slave %s follows from %d", self.address, self.next_offset)
        return None

    def send_more(self) -> None:
        """Send more of the log, as far as the window allows."""
        log = self._log
        while (
            self.state is SlaveState.SENDS
            and self.next_offset < log.max_offset
            and self.next_offset - self.confirmed_offset < WINDOW_BYTES
        ):
            data = log.read_up_to(self.next_offset, self._config.transfer_batch_bytes)
            if not data:
                self._end(f"cannot follow: byte {self.next_offset} of the log is gone")
                return
            self._send(data)

    def _send(self, data: bytes) -> None:
        self._connection.send_frame(encode_piece(self.next_offset, data))
        self.next_offset += len(data)
        self._said_us = self._clock.monotonic_us()

    def look_at_the_clock(self) -> None:
        """Send a heartbeat when one is due, or end a connection on which the slave has been silent for too long."""
        now_us = self._clock.monotonic_us()
        self._note_caught_up()
        if now_us - self._heard_us > self._config.housekeeping_interval_ms * 1_000:
            self._end("is silent")
        elif (
            self.state is SlaveState.SENDS
            and now_us - self._said_us >= self._config.send_heartbeat_interval_ms * 1_000
            and self.next_offset == self._log.max_offset
        ):
            self._send(b"")

    # --- state -------------------------------------------------------------------------------------------------------

    @property
    def confirmed_offset(self) -> int:
        """Return the offset up to which the slave has all bytes from :attr:`begin_offset` on."""
        return max(self.begin_offset, self.acknowledged_offset)

    @property
    def behind_bytes(self) -> int:
        """Return how many bytes the slave has not confirmed yet."""
        return self._log.max_offset - self.confirmed_offset

    def holds(self, offset: int, end_offset: int) -> bool:
        """Return whether the slave has confirmed these bytes and received them on this connection."""
        return self.begin_offset <= offset and end_offset <= self.confirmed_offset

    @property
    def is_near(self) -> bool:
        """Return whether the slave is close enough to the end of the log to be waited for."""
        return self.state is SlaveState.SENDS and self.behind_bytes < self._config.slave_fallbehind_max_bytes

    def _note_caught_up(self) -> None:
        if self.confirmed_offset >= self._log.max_offset:
            self.caught_up_ms = self._clock.now_ms()

    def _go(self, state: SlaveState) -> None:
        self.state = successor(_NEXT, self.state, state, f"the connection to slave {self.address}")
