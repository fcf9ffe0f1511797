"""The lab's one thread, which owns every world. Web threads only hand in work, and wait a bounded time for an answer.

The thread works in slices of a few milliseconds and rests between them, so that the live broker, which runs in another
thread of this process, gets the interpreter often enough.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from app.foundation.event_budget import EventBudget
from app.foundation.viewer import BAD_EVENTS_MAX
from app.lab.foundation.bounds import SUBMISSIONS_MAX, VIEWERS_MAX
from app.lab.foundation.garbage import FullCollections
from app.lab.foundation.log_filter import LAB_THREAD
from app.lab.foundation.refusal import LabRefused
from app.lab.session.audience import AudienceTransport
from app.lab.session.film import FilmJob
from app.lab.session.worlds import LabWorlds

log = logging.getLogger("glassmq.lab.host")

_T = TypeVar("_T")

#: The part of one core that the lab may use in the long run.
SHARE = 0.5
#: Seconds of a rest that any handed-in work ends.
LONG_REST_S = 0.1
#: Seconds of rest after a turn that failed.
REST_AFTER_FAILURE_S = 1.0
#: Seconds that the lab may keep the interpreter while another thread wants it.
SWITCH_INTERVAL_S = 0.001
#: Events per second that a page may send in the long run, and in one burst: a key that repeats steps some thirty times
#: a second, and each step is acknowledged.
EVENTS_PER_SECOND = 150
EVENT_BURST = 300
#: Seconds that a web thread waits for an answer.
ANSWER_TIMEOUT_S = 10.0
#: Seconds that a web thread waits for a film.
FILM_TIMEOUT_S = 60.0


class _Page:
    """One connected page: its rate limit, and its count of unusable events."""

    def __init__(self, now: float) -> None:
        self.budget = EventBudget(EVENTS_PER_SECOND, EVENT_BURST, now)
        self.bad_events = 0


class LabHost:
    """The side of :class:`~app.lab.session.worlds.LabWorlds` that other threads use. The thread starts with the first
    work that is handed in.

    Without ``has_thread`` there is no thread: the caller of :meth:`serve_once` acts as the lab's thread.
    """

    def __init__(
        self, transport: AudienceTransport, clock: Callable[[], float] = time.monotonic, *, has_thread: bool = True
    ) -> None:
        self._transport = transport
        self._clock = clock
        self.worlds = LabWorlds(transport, clock)
        self._lock = threading.Lock()
        self._pages: dict[str, _Page] = {}
        self._submissions: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._has_thread = has_thread
        self._rests_long = False

    # ------------------------------------------------------------------------------ from web threads

    def connect(self, viewer_id: str, browser: str) -> None:
        """Add a page whose browser connected. Raises :class:`LabRefused`."""
        with self._lock:
            if len(self._pages) >= VIEWERS_MAX:
                raise LabRefused("too_many_viewers", limit=VIEWERS_MAX)
            self._pages[viewer_id] = _Page(self._clock())
        self._submit(lambda: self.worlds.connect(viewer_id, browser))

    def disconnect(self, viewer_id: str) -> None:
        """Remove a page that is gone."""
        with self._lock:
            known = self._pages.pop(viewer_id, None)
        if known is not None:
            self._submit(lambda: self.worlds.disconnect(viewer_id))

    def event_received(self, viewer_id: str, event: str, arguments: tuple[object, ...]) -> None:
        """Handle one event from a browser; floods and too many unusable events end the connection."""
        with self._lock:
            page = self._pages.get(viewer_id)
            if page is None:
                return
            floods = not page.budget.take(self._clock())
        if floods:
            self._expel(viewer_id, "too many events")
        elif len(self._submissions) >= SUBMISSIONS_MAX:
            self._transport.send([viewer_id], "refused", LabRefused("server_busy").as_json())
        else:
            self._submit(lambda: self._handle(viewer_id, page, event, arguments), is_urgent=event != "acknowledge")

    def ask(self, function: Callable[[LabWorlds], _T]) -> _T:
        """Run ``function`` in the lab's thread and return its result; :class:`LabRefused` passes through."""
        answer: Future[_T] = Future()

        def in_lab() -> None:
            if answer.cancelled():
                return
            try:
                answer.set_result(function(self.worlds))
            except Exception as error:
                answer.set_exception(error)

        self._hand_in(in_lab)
        return self._wait(answer, ANSWER_TIMEOUT_S)

    def job(self, browser: str | None, make: Callable[[LabWorlds, Future[_T]], FilmJob]) -> _T:
        """Run the job that ``make`` makes for ``browser``, and return its answer; :class:`LabRefused` passes
        through.
        """
        answer: Future[_T] = Future()

        def in_lab() -> None:
            try:
                self.worlds.start_job(browser, lambda: make(self.worlds, answer))
            except Exception as error:
                answer.set_exception(error)

        self._hand_in(in_lab)
        return self._wait(answer, FILM_TIMEOUT_S)

    def start_film(self, film: FilmJob) -> None:
        """Start making a film without waiting for it; ``film.answer`` gets it. Raises :class:`LabRefused`."""
        self._hand_in(lambda: self.worlds.add_film(film))

    def film_of(self, answer: Future[_T]) -> _T:
        """Wait for a film that was started. Raises :class:`LabRefused`."""
        # The answer belongs to all that wait for it: one that gives up must not cancel it.
        own: Future[_T] = Future()
        answer.add_done_callback(lambda done: _copy_result(done, own))
        return self._wait(own, FILM_TIMEOUT_S)

    def _hand_in(self, work: Callable[[], None]) -> None:
        if len(self._submissions) >= SUBMISSIONS_MAX:
            raise LabRefused("server_busy")
        self._submit(work)

    def _wait(self, answer: Future[_T], timeout_s: float) -> _T:
        if not self._has_thread:
            while not answer.done():
                self.serve_once()
        try:
            return answer.result(timeout_s)
        except TimeoutError:
            answer.cancel()
            raise LabRefused("server_busy") from None

    def _submit(self, work: Callable[[], None], *, is_urgent: bool = True) -> None:
        """Hand in work. Acknowledgements are not urgent: they alone do not end a short rest, or thirty watched worlds
        would leave no rest.
        """
        self._submissions.append(work)
        if is_urgent or self._rests_long:
            self._wake.set()
        if self._thread is None and self._has_thread:
            self._start()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                thread = threading.Thread(target=self._run, name=LAB_THREAD, daemon=True)
                thread.start()
                # Only now: where no thread could be started, the next request retries.
                self._thread = thread

    def stop(self) -> None:
        """End the thread and free all worlds."""
        self._stop.set()
        self._wake.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(timeout=5)
        if thread is None or not thread.is_alive():
            self.worlds.close()

    def _expel(self, viewer_id: str, reason: str) -> None:
        log.warning("a browser was disconnected from the lab: %s", reason)
        self.disconnect(viewer_id)
        self._transport.disconnect(viewer_id, reason)

    # ------------------------------------------------------------------------------ in the lab's thread

    def _handle(self, viewer_id: str, page: _Page, event: str, arguments: tuple[object, ...]) -> None:
        if not self.worlds.handle(viewer_id, event, arguments):
            page.bad_events += 1
            if page.bad_events == BAD_EVENTS_MAX:
                self._expel(viewer_id, "too many events that mean nothing")

    def serve_once(self) -> float:
        """Do the work that was handed in, then work one slice, and return the seconds that the lab may rest now."""
        while self._submissions:
            work = self._submissions.popleft()
            try:
                work()
            except Exception:
                log.exception("the lab could not serve a request; it goes on")
        try:
            return self.worlds.turn()
        except Exception:
            log.exception("the lab failed in a turn; it goes on")
            return REST_AFTER_FAILURE_S

    def _run(self) -> None:
        # By default a thread that computes keeps the interpreter for 5 ms, which would delay the live broker's clients.
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL_S))
        with FullCollections() as collections:
            self._work(collections)

    def _work(self, collections: FullCollections) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            started = time.thread_time()
            rest = self.serve_once()
            collections.collect_if_due(is_quiet=rest >= LONG_REST_S and not self._submissions)
            # The thread may not use more than its share; a browser's event ends the rest immediately.
            used = time.thread_time() - started
            self._rests_long = rest >= LONG_REST_S
            if self._rests_long and self._submissions:
                continue
            self._wake.wait(max(rest, used * (1 / SHARE - 1)))


def _copy_result(done: Future[_T], own: Future[_T]) -> None:
    if own.cancelled():
        return
    if done.cancelled():
        own.set_exception(LabRefused("server_busy"))
    elif (problem := done.exception()) is not None:
        own.set_exception(problem)
    else:
        own.set_result(done.result())
