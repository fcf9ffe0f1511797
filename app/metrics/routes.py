"""``GET /metrics``, protected by the same gate as the pages: where there is a token, Prometheus must send it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from flask import Blueprint, Response

from app.metrics.exposition import CONTENT_TYPE, MetricFamily, exposition
from engine.runtime.live.engine_thread import EngineUnavailable

#: A sample younger than this many seconds is returned again: more frequent requests take no more of the engine's time.
SHARED_FOR_S = 1.0


class _SharedLook:
    """The last response, which is shared for a while."""

    def __init__(self, collect: Callable[[], list[MetricFamily]], clock: Callable[[], float]) -> None:
        self._collect = collect
        self._clock = clock
        self._lock = threading.Lock()
        self._text = ""
        self._taken_s: float | None = None

    def text(self) -> str:
        """Return the metrics as text. Raises :class:`EngineUnavailable`."""
        with self._lock:
            if self._taken_s is None or self._clock() - self._taken_s >= SHARED_FOR_S:
                self._text = exposition(self._collect())
                self._taken_s = self._clock()
            return self._text


def create_metrics_route(
    collect: Callable[[], list[MetricFamily]], clock: Callable[[], float] = time.monotonic
) -> Blueprint:
    """Return the blueprint over ``collect``, which may be called from any thread."""
    look = _SharedLook(collect, clock)
    routes = Blueprint("metrics", __name__)

    @routes.get("/metrics")
    def metrics() -> Response:
        try:
            text, status = look.text(), 200
        except EngineUnavailable as error:
            text, status = f"{error}\n", 503
        return Response(text, status, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})

    return routes
