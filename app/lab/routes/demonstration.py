"""The film of the start page: less than a minute of a real world, with captions.

The world is the scenario ``start-page``, run by the engine of this server, twice: with the broker lock of ordered
consumption switched off on the way, and again, from the moment at which that mattered, with the lock on. Both runs have
the same seed. The film is cut where something happens, not at fixed times: each world is run once to find these places,
and once more to take the pictures. All visitors see one film. It is made at build time
(:mod:`app.lab.routes.film_file`), or, when the sources have changed since, for the first visitor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from app.foundation.patch import difference
from app.foundation.translator import in_all_languages
from app.lab.routes.film_file import SCENARIO, FilmFile, pack_film
from app.lab.views.world_view import WorldView
from engine.lab.run.condition_watch import ConditionWatch
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.kinds.node_spec import SendingSpec
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.switches import BROKER_LOCK

if TYPE_CHECKING:
    from app.foundation.json_types import JsonValue
    from app.picture.session import film as picture
    from engine.lab.nodes.broker_node import BrokerNode
    from engine.lab.scenario.scenario import Command

LESSON = "04-three-locks"
#: Real time between two pictures of the film.
PICTURE_MS = 80
#: The film begins this long before the producer does something.
_LEAD_US = 1_000
#: A chapter that has not ended after this many events never will.
_CHAPTER_EVENTS_MAX = 5_000

#: Parts of a view that the start page draws.
_SHOWN = (
    "scenario",
    "title",
    "focus",
    "event",
    "time_us",
    "is_over",
    "nodes",
    "frames",
    "faults",
    "commands",
    "invariants",
)


#: Returns whether a chapter of a run, which begins now, has ended; called after each event.
RunEnding = Callable[[LabRun], Callable[[], bool]]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter: one caption. ``command`` is given when it begins."""

    name: str
    play_ms: int
    rest_ms: int
    ending: RunEnding
    command: Command | None = None


@dataclass(frozen=True, slots=True)
class Take:
    """The part of one run that is shown. ``begins_with``: the chapter of the first take at whose beginning it
    begins.
    """

    chapters: tuple[Chapter, ...]
    begins_with: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """The events at which a chapter begins and ends."""

    begin_us: int
    end_us: int
    #: The number of its last event.
    event: int


# --- conditions of the chapters ------------------------------------------------------------------------------------

#: The queue that changes its owner.
_QUEUE_ID = 1


def _broker(run: LabRun) -> BrokerNode:
    return run.world.brokers()[0]


def _has_queue(run: LabRun, name: str) -> bool:
    topic = run.scenario.topics[0].name
    consumers = [role.consumer for role in run.world.consumers() if role.name == name and role.consumer is not None]
    return any((queue.topic, queue.queue_id) == (topic, _QUEUE_ID) for one in consumers for queue in one.process_queues)


def _met(condition: Condition) -> RunEnding:
    return lambda run: ConditionWatch(run.world, condition).is_met


def _when(function: Callable[[LabRun], bool]) -> RunEnding:
    return lambda run: lambda: function(run)


def _is_stored(run: LabRun) -> bool:
    """Return whether the message is in the commit log and in its queue."""
    broker = _broker(run).broker
    return broker is not None and 0 < broker.store.commit_log.max_offset == broker.store.dispatcher.dispatched_offset


def handled_twice(run: LabRun) -> list[str]:
    """Return the keys of the orders that both consumers received, in the order in which the second one received
    them.
    """
    first: dict[str, None] = {}
    again: dict[str, None] = {}
    for began in run.world.history.consumes_began:
        (again if began.key in first else first)[began.key] = None
    return list(again)


def _is_all_consumed(run: LabRun) -> bool:
    planned = sum(traffic.count for node in run.scenario.of_kind(SendingSpec) for traffic in node.traffic)
    return len(run.world.history.consumes_ended) >= planned


def _is_all_stored(run: LabRun) -> bool:
    """Return whether the broker knows that everything is consumed."""
    broker = _broker(run).broker
    return broker is not None and all(
        offset == broker.store.max_offset(topic, queue_id)
        for topic, _, offsets in broker.consumer_offset_manager.entries()
        for queue_id, offset in offsets.items()
    )


_SWITCH_OFF = parse_command({"kind": "lock-switch", "target": "B1", "lock": BROKER_LOCK, "on": False})

TAKES = (
    Take(
        (
            Chapter("send", 4_000, 800, _when(_is_stored)),
            Chapter("consume", 1_800, 1_600, _met(Condition(ConditionKind.CONSUME_BEGINS))),
            Chapter("order", 6_000, 0, _met(Condition(ConditionKind.CONSUME_BEGINS, contains="ann4"))),
            Chapter("off", 1_000, 2_200, _met(Condition(ConditionKind.COMMAND, contains="drop-next")), _SWITCH_OFF),
            Chapter("join", 4_200, 600, _when(lambda run: _has_queue(run, "C2"))),
            Chapter("duplicate", 1_000, 4_400, _when(lambda run: bool(run.violations))),
            Chapter("twice", 3_400, 0, _when(lambda run: not _has_queue(run, "C1"))),
        )
    ),
    Take(
        (
            Chapter("refused", 4_000, 1_600, _met(Condition(ConditionKind.LABEL, "C2", "notes the broker's answer"))),
            Chapter("handover", 5_400, 600, _when(_is_all_consumed)),
            Chapter("end", 2_600, 0, _when(_is_all_stored)),
        ),
        begins_with="join",
    ),
)


# --- the film ------------------------------------------------------------------------------------------------------


class DemonstrationMaker:
    """Makes the film in slices; see :class:`app.lab.session.worlds.FilmJob`."""

    def __init__(self, answer: Future[picture.Demonstration]) -> None:
        self.answer = answer
        self._scenario = load_scenario(SCENARIO)
        self._runs: list[LabRun] = []
        self._last: dict[str, JsonValue] = {}
        self._slices = self._make()

    def advance(self, until: Callable[[], bool]) -> bool:
        """Continue until ``until()`` is true; return True when the film is done."""
        for film in self._slices:
            if film is not None:
                self.answer.set_result(film)
                return True
            if until():
                return False
        return True

    def close(self) -> None:
        """Free the runs."""
        self._slices.close()
        for run in self._runs:
            run.close()

    def _run(self) -> LabRun:
        run = LabRun(self._scenario)
        self._runs.append(run)
        return run

    def _make(self) -> Generator[picture.Demonstration | None, None, None]:
        """Yield None after each slice of work, and the film in the end."""
        begin_us = (
            min(traffic.start_ms for node in self._scenario.of_kind(SendingSpec) for traffic in node.traffic) * 1_000
            - _LEAD_US
        )
        begins: dict[str, int] = {"": begin_us}
        first: dict[str, JsonValue] = {}
        chapters: list[picture.DemonstrationChapter] = []
        for number, take in enumerate(TAKES):
            cuts = yield from self._find_cuts(take, begins[take.begins_with])
            begins.update((chapter.name, cut.begin_us) for chapter, cut in zip(take.chapters, cuts, strict=True))
            run = self._run()
            view = WorldView(run)
            run.run_to_time(cuts[0].begin_us)
            if not first:
                first = self._last = _picture(view)
            films = yield from self._take_pictures(run, view, take, cuts)
            values = _values(run)
            for chapter, cut, pictures in zip(take.chapters, cuts, films, strict=True):
                chapters.append(_chapter(chapter, number, cut, pictures, values))
        yield {"address": f"/lab/{SCENARIO}", "lesson": f"/tutorials/{LESSON}", "view": first, "chapters": chapters}

    def _find_cuts(self, take: Take, begin_us: int) -> Generator[None, None, list[Cut]]:
        run = self._run()
        run.run_to_time(begin_us)
        cuts: list[Cut] = []
        for chapter in take.chapters:
            is_over = chapter.ending(run)
            begin_us = run.now_us
            if chapter.command is not None:
                run.apply(chapter.command)
            for count in range(_CHAPTER_EVENTS_MAX):
                has_stepped = run.step()
                assert has_stepped, f"the world ends before chapter {chapter.name} of the start page's film"
                if is_over():
                    break
                if count % 20 == 0:
                    yield
            else:
                raise AssertionError(f"chapter {chapter.name} of the start page's film has no end")
            cuts.append(Cut(begin_us, run.now_us, run.event_number))
        return cuts

    def _take_pictures(
        self, run: LabRun, view: WorldView, take: Take, cuts: list[Cut]
    ) -> Generator[None, None, list[list[picture.TimedPicture]]]:
        """Yield between slices, and return the pictures of each chapter; the first picture continues from the last one
        shown.
        """
        films: list[list[picture.TimedPicture]] = []
        for chapter, cut in zip(take.chapters, cuts, strict=True):
            pictures: list[picture.TimedPicture] = []
            for _ in _go_through(run, chapter, cut):
                shown = _picture(view)
                operations = difference(self._last, shown)
                if operations:
                    pictures.append([run.now_us, operations])
                self._last = shown
                yield
            films.append(pictures)
        return films


def _go_through(run: LabRun, chapter: Chapter, cut: Cut) -> Iterator[None]:
    """Stop at every picture that is due: something has happened, and the last picture is old enough."""
    if chapter.command is not None:
        run.apply(chapter.command)
    yield
    count = max(1, chapter.play_ms // PICTURE_MS)
    for number in range(1, count):
        if run.run_to_time(cut.begin_us + (cut.end_us - cut.begin_us) * number // count) > 0:
            yield
    run.run_events(cut.event - run.event_number)
    yield


def _picture(view: WorldView) -> dict[str, JsonValue]:
    whole = cast("dict[str, JsonValue]", view.build())
    return {name: whole[name] for name in _SHOWN}


def _values(run: LabRun) -> dict[str, object]:
    """Return the figures in the captions of a run."""
    twice = handled_twice(run)
    return {
        "orders": len({ended.key for ended in run.world.history.consumes_ended}),
        "twice": len(twice),
        "order": twice[0] if twice else "",
        "invariants": 0 if run.checkers is None or run.violations else len(run.checkers.checkers),
        "events": f"{run.event_number:,}",
    }


def _chapter(
    chapter: Chapter, take: int, cut: Cut, pictures: list[picture.TimedPicture], values: dict[str, object]
) -> picture.DemonstrationChapter:
    key = "landing.demo." + chapter.name
    return {
        "name": chapter.name,
        "take": take,
        "begin_us": cut.begin_us,
        "end_us": cut.end_us,
        "play_ms": chapter.play_ms,
        "rest_ms": chapter.rest_ms,
        "text": in_all_languages(key, **values),
        "pictures": pictures,
    }


class Demonstration:
    """The one film of this server, for all visitors. Used by web threads.

    :param start: hands a maker to the lab's thread, and returns immediately.
    """

    def __init__(self, start: Callable[[DemonstrationMaker], None]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._film: Future[picture.Demonstration] | None = None
        self._file: FilmFile | None = None

    def begin(self) -> Future[picture.Demonstration]:
        """Start making the film unless it is under way or done; retry when it failed. Raises what ``start`` raises."""
        with self._lock:
            film = self._film
            if film is None or (film.done() and (film.cancelled() or film.exception() is not None)):
                film = self._film = Future()
                try:
                    self._start(DemonstrationMaker(film))
                except BaseException:
                    self._film = None
                    raise
            return film

    def file(self, film: picture.Demonstration) -> FilmFile:
        """Return ``film`` ready to be sent; it is compressed once."""
        with self._lock:
            if self._file is None:
                self._file = pack_film(film)
            return self._file
