"""Keeps the page's callers together from taking too much of the engine's time from the broker's clients."""

from __future__ import annotations

import threading
from collections.abc import Callable

from flask import Response, abort, request

from app.foundation.event_budget import EventBudget
from app.foundation.translator import in_all_languages
from app.picture.refusal import Refusal
from app.web.api import json_answer

#: Requests per second of all callers together, in the long run and in one burst.
REQUESTS_PER_SECOND = 50
REQUEST_BURST = 200

#: Files cost next to nothing, and one page requests a hundred of them. A health check must not be refused.
_FREE = ("/static/", "/assets/", "/modules/", "/healthz")


class Throttle:
    """One throttle for pages and API alike; ``clock``: monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._budget = EventBudget(REQUESTS_PER_SECOND, REQUEST_BURST, clock())

    def check(self) -> Response | None:
        """Return None when the current request may be served, else the refusal."""
        if request.path.startswith(_FREE):
            return None
        with self._lock:
            if self._budget.take(self._clock()):
                return None
        if not request.path.startswith("/api/"):
            abort(429)
        texts = in_all_languages("error.too_often", limit=REQUESTS_PER_SECOND)
        refusal: Refusal = {"reason": "too_often", "error": texts["en"], "text": texts}
        answer = json_answer(refusal, 429)
        answer.headers["Retry-After"] = "1"
        return answer
