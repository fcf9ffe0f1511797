"""The frames that a search may lose, and the observer that sees them leave.

A lost frame is a point like a step: the link, the name of the frame, and its number among the frames with that name on
that link. The search loses it with the command that a user would give just before it, ``drop-next``; so of several
frames with one name that the same event sends over one link, only the first is such a point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.faults.frame_subject import REPLY
from engine.lab.witness.frame_log import FrameLog
from engine.lab.work.store_frames import StoreRequestCode
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind

#: Requests of a listener to a store.
_STORE_CALLS = tuple(code.name for code in StoreRequestCode if code is not StoreRequestCode.SQL_ROLLBACK)
#: Frames that matter for messages and for their work, by their names in ``drop-next`` -> why their loss matters:
#: ``loss.WHY`` of the catalogue. These are lost unless others are named.
LOST_FRAMES: Mapping[str, str] = {
    RequestCode.SEND_MESSAGE_V2.name: "send",
    f"{REPLY} to {RequestCode.SEND_MESSAGE_V2.name}": "send_reply",
    RequestCode.CONSUMER_SEND_MSG_BACK.name: "send_back",
    f"{REPLY} to {RequestCode.CONSUMER_SEND_MSG_BACK.name}": "send_back_reply",
    RequestCode.UPDATE_CONSUMER_OFFSET.name: "offset",
    RequestCode.PULL_MESSAGE.name: "pull",
    f"{REPLY} to {RequestCode.PULL_MESSAGE.name}": "pull_reply",
    RequestCode.END_TRANSACTION.name: "end_transaction",
    **dict.fromkeys(_STORE_CALLS, "store"),
    **{f"{REPLY} to {name}": "store_reply" for name in _STORE_CALLS},
}


class FrameObserver:
    """Observe each frame that is handed to a link, before any fault decides about it; it never changes a frame.

    This is a :class:`~engine.runtime.lab.lab_link_fault.LinkFault`.

    :param wanted: names of the frames to report.
    :param on_frame: called with the link, ``P1->B1``, and the name of each of them, while its event runs.
    """

    def __init__(self, sent: FrameLog, wanted: Sequence[str], on_frame: Callable[[str, str], None]) -> None:
        self._sent = sent
        self._wanted = frozenset(wanted)
        self._on_frame = on_frame

    def extra_delays_us(self, parcel: Parcel) -> None:
        if parcel.kind is ParcelKind.FRAME and parcel.source != parcel.target:
            name = self._sent.name_of_next(parcel)
            if name in self._wanted:
                self._on_frame(f"{parcel.source}->{parcel.target}", name)
