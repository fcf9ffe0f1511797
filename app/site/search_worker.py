"""A search in a worker of the browser: how the site starts one, and what runs in it.

``static/site/worker.js`` starts ``search_worker.js``, where Pyodide runs :func:`report_search`.
"""

from __future__ import annotations

import asyncio
import base64
import pickle
from collections.abc import Callable

from app.foundation.json_text import SocketJson
from app.lab.routes.search_order import SearchOrder, search

#: Takes the number of a search, ``search`` or ``end-search``, and the order as text.
Post = Callable[[str, str, str], None]


class SearchInWorker:
    """One search and the worker that runs it. The worker ends with the page, so nothing else limits it."""

    def __init__(self, identity: str, order: SearchOrder, post: Post) -> None:
        self._identity = identity
        self._post = post
        # Only this site's own code writes it and reads it.
        post(identity, "search", base64.b64encode(pickle.dumps(order)).decode())

    def asked(self) -> None: ...

    def end(self) -> None:
        """End the worker."""
        self._post(self._identity, "end-search", "")


def report_search(order: str, post: Callable[[str], None]) -> None:
    """Search, and post each state as JSON."""
    # A world runs an event loop of its own, and Pyodide has one that counts as running.
    asyncio._set_running_loop(None)
    for state in search(pickle.loads(base64.b64decode(order))):  # noqa: S301 - written by SearchInWorker in this page
        post(SocketJson.dumps(state))
