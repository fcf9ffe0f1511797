"""A run as a film: its first view and a patch per picture, so that it can be watched without an engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol, cast

from app.foundation.patch import Operation, difference
from app.lab.foundation.refusal import LabRefused
from app.lab.foundation.sources import source_file
from app.lab.views.record_detail import field_texts, record_at, without_texts
from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.lab.why.why_run import WhyRun

if TYPE_CHECKING:
    from app.picture.frame import FrameDetail
    from app.picture.session import why as picture
    from app.picture.session.film import Film, FilmRecord, SourceText
    from app.picture.world.node import BrokerPicture, NodePicture
    from app.picture.world.playing import WorldInFilm
    from engine.lab.run.recording import Recording
    from engine.lab.why.answer import Why

#: Pictures of one film; a longer run shows only every Nth event.
PICTURES_MAX = 2_000
#: Frames whose bytes a film includes, and how many bytes of each.
FRAMES_MAX = 500
FRAME_HEX_MAX = 4_096
#: Entries of the journal, and files of the engine.
JOURNAL_MAX = 20_000
SOURCES_MAX = 60
#: Stored messages whose bytes a film includes.
RECORDS_MAX = 300
#: Messages for which a film includes the explanation: those in trouble first.
WHY_MAX = 24


class FilmJob(Protocol):
    """A film that the lab's thread makes in slices."""

    #: Gets what this kind of job finds out.
    answer: Future[Any]

    def advance(self, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when ``answer`` has the film, or no request waits for it any
        more.
        """
        ...

    def close(self) -> None:
        """Free the runs."""
        ...


class FilmMaker:
    """Runs a recording again and takes the pictures in slices; a :class:`FilmJob`. ``at``: the event at which the film
    opens.
    """

    def __init__(self, recording: Recording, answer: Future[Film], at: int | None = None) -> None:
        self._recording = recording
        self._at = recording.event if at is None else at
        self.answer = answer
        self._run = LabRun(recording.scenario, recording.seed, recording.commands)
        self._world = WorldView(self._run)
        self._stride = max(1, -(-recording.event // PICTURES_MAX))
        self._first = self._last = self._picture()
        self._patches: list[list[Operation]] = []
        self._frames: dict[str, FrameDetail] = {}
        self._sources: dict[str, SourceText] = {}
        self._records: dict[str, FilmRecord] = {}
        self._seen_frame = 0
        self._why: WhyRun | None = None

    def advance(self, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when the film is done or no request waits for it any more."""
        if self._why is not None:
            return self._ask_why(self._why, until)
        run, end = self._run, self._recording.event
        while (left := end - run.event_number) > 0:
            if self.answer.cancelled():
                return True
            if until():
                return False
            to_place = self._at - run.event_number
            if run.run_events(min(self._stride, left, to_place if to_place > 0 else left)) == 0:
                break
            self._take()
        run.stand_at(self._recording.event, self._recording.time_us)
        self._take()
        self._why = WhyRun(self._recording, self._asked())
        return False

    def _asked(self) -> list[str]:
        """Return the keys of messages that a viewer may ask about."""
        lives = sorted(self._last["life"]["messages"].values(), key=lambda life: not life["in_trouble"])
        return [life["key"] for life in lives[:WHY_MAX]]

    def _ask_why(self, run: WhyRun, until: Callable[[], bool]) -> bool:
        if self.answer.cancelled():
            return True
        answers = run.advance(until)
        if answers is None:
            return False
        self.answer.set_result(self._film(answers))
        return True

    def close(self) -> None:
        """Free the runs."""
        self._run.close()
        if self._why is not None:
            self._why.close()

    def _take(self) -> None:
        view = self._picture()
        self._patches.append(difference(self._last, view))
        self._last = view
        for frame in view["frames"]:
            number = frame["id"]
            if number > self._seen_frame and len(self._frames) < FRAMES_MAX:
                self._seen_frame = number
                detail = self._world.frames.detail(number)
                if detail is not None:
                    detail["hex_omitted_bytes"] += max(0, len(detail["hex"]) // 2 - FRAME_HEX_MAX)
                    detail["hex"] = detail["hex"][: 2 * FRAME_HEX_MAX]
                    self._frames[str(number)] = detail
        self._take_records(view["nodes"])
        step = view["next"]
        file = None if step is None else step["file"]
        if file is not None and file not in self._sources and len(self._sources) < SOURCES_MAX:
            with contextlib.suppress(LabRefused):
                self._sources[file] = {"lines": source_file(file)["lines"]}

    def _take_records(self, nodes: Mapping[str, NodePicture]) -> None:
        for name, node in nodes.items():
            log = cast("BrokerPicture", node)["commit_log"] if "commit_log" in node else None
            for record in () if log is None else log["records"]:
                key = f"{name} {record['offset']} {record['stored_us']}"
                if key in self._records or len(self._records) >= RECORDS_MAX:
                    continue
                # The file of an old record may be gone already.
                with contextlib.suppress(LabRefused):
                    self._records[key] = {**without_texts(record_at(self._run, name, record["offset"])), "node": name}

    def _picture(self) -> WorldInFilm:
        return {
            **self._world.build(),
            "playing": False,
            "speed": "auto",
            "speed_now": None,
            "pace": "",
            "ahead": None,
            "in_past": False,
            "events_total": self._recording.event,
            "time_total_us": self._recording.time_us,
            "busy": None,
            "stopped_by": None,
            "forked_from": None,
            "differs": None,
            "world": {"id": "", "published": False, "viewers": 0},
        }

    def _film(self, answers: Sequence[Why]) -> Film:
        entries = self._run.world.journal.entries[-JOURNAL_MAX:]
        return {
            "view": {**self._first, "link": self._run.link()},
            "patches": self._patches,
            "at": self._at,
            "journal": [list(entry) for entry in entries],
            "frames": self._frames,
            "sources": self._sources,
            "records": self._records,
            "field_texts": field_texts(),
            "why": {why.key: cast("picture.Why", why.to_dict()) for why in answers},
        }
