"""The last frames that a world has sent, with the events that sent them; decoded on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.faults.frame_meaning import MeaningWords
from engine.lab.narration.relevance import LIGHT_REQUESTS, is_frame_relevant
from engine.lab.scenario.frame_names import FrameReader, FrameReading
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind

if TYPE_CHECKING:
    from engine.lab.world.world import ScenarioWorld

#: Number of frames remembered; the request of a pull that waits at the broker may be that far back.
REMEMBERED = 512


#: There is nothing to report.
NOTHING = MeaningWords({})


class SentFrame:
    """One frame. ``request``: for a reply, the request that it answers, if that is remembered.

    :ivar number: number among all frames of the world.
    :ivar event: the number of the event that sent it.
    :ivar is_lost: the link did not accept it. A frame that is lost later was already reported: it only does not arrive.
    :ivar arrives_us: when its first copy arrives; when it was sent, if it does not.
    """

    __slots__ = (
        "_is_read",
        "_reader",
        "_reading",
        "arrives_us",
        "event",
        "is_lost",
        "number",
        "parcel",
        "request",
        "sent_us",
        "words",
    )

    def __init__(
        self, reader: FrameReader, number: int, event: int, sent_us: int, parcel: Parcel, delays_us: tuple[int, ...]
    ) -> None:
        self.number = number
        self.event = event
        self.sent_us = sent_us
        self.parcel = parcel
        self.is_lost = not delays_us
        self.arrives_us = sent_us + min(delays_us, default=0)
        self.request: SentFrame | None = None
        #: Its words; None if they were not requested yet.
        self.words: MeaningWords | None = None
        self._reader = reader
        self._reading: FrameReading | None = None
        self._is_read = False

    @property
    def reading(self) -> FrameReading | None:
        """Return the decoded content; None if the frame cannot be decoded."""
        if not self._is_read:
            self._is_read = True
            self._reading = self._reader.read(*self.parcel[1:])
        return self._reading


class SentFrames:
    """Watch the frames of a world from now on.

    :param on_frame: called with each frame, while its event runs.
    """

    def __init__(self, world: ScenarioWorld, on_frame: Callable[[SentFrame], None]) -> None:
        self._world = world
        self._on_frame = on_frame
        self._frames: deque[SentFrame] = deque(maxlen=REMEMBERED)
        #: Number of frames sent so far.
        self.count = 0
        world.watch_parcels(self._note)
        world.watch_cuts(self._cut)

    def _note(self, parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        if parcel.kind is ParcelKind.FRAME:
            self.count += 1
            where = (self.count, self._world.event_number, self._world.now_us)
            frame = SentFrame(self._world.frame_reader, *where, parcel, delays_us)
            self._frames.append(frame)
            self._on_frame(frame)

    def _cut(self, parcel: Parcel) -> None:
        for frame in reversed(self._frames):
            if frame.parcel.data is parcel.data and frame.parcel[1:3] == parcel[1:3]:
                frame.arrives_us = frame.sent_us
                return

    def newest(self) -> list[SentFrame]:
        """Return the frames, the last first."""
        return list(reversed(self._frames))

    def name_of(self, frame: SentFrame) -> str:
        """Return the name of the request, or of the request that it answers; empty if that is unknown."""
        said = frame.reading
        if said is None or said.name:
            return "" if said is None else said.name
        request = self.request_of(frame)
        return "" if request is None or request.reading is None else request.reading.name

    def request_of(self, reply: SentFrame) -> SentFrame | None:
        """Return the remembered request that ``reply`` answers."""
        if reply.request is None and reply.reading is not None:
            number, back = reply.reading.number, (reply.parcel.target, reply.parcel.source)
            reply.request = next(
                (
                    frame
                    for frame in reversed(self._frames)
                    if (frame.parcel.source, frame.parcel.target) == back
                    and frame.event <= reply.event
                    and frame.reading is not None
                    and frame.reading.name
                    and frame.reading.number == number
                ),
                None,
            )
        return reply.request

    def matters(self, frame: SentFrame) -> bool:
        """Return whether a viewer wants to see the frame."""
        name = self.name_of(frame)
        return bool(name) and is_frame_relevant(name)

    def is_light(self, frame: SentFrame) -> bool:
        """Return whether the effect of the frame matters more than the frame itself."""
        return self.name_of(frame) in LIGHT_REQUESTS

    def under_way(self, now_us: int) -> list[SentFrame]:
        """Return the frames that matter and are in flight, the next to arrive first."""
        found = [frame for frame in self._frames if frame.arrives_us > now_us]
        return sorted((frame for frame in found if self.matters(frame)), key=lambda frame: frame.arrives_us)
