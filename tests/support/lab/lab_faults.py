"""Faults that tests put on the lab's links."""

from __future__ import annotations

from engine.protocol.command.remoting_command import decode_command
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind


class DropsRequests:
    """Loses the requests of one code that leave a node."""

    def __init__(self, node: str, code: int) -> None:
        self._node = node
        self._code = code
        #: How many were lost.
        self.dropped = 0

    def extra_delays_us(self, parcel: Parcel) -> tuple[int, ...] | None:
        if parcel.kind is ParcelKind.FRAME and parcel.source == self._node:
            command = decode_command(parcel.data[4:])
            if command.code == self._code and not command.is_response:
                self.dropped += 1
                return ()
        return None
