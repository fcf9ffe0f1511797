"""The site's application in a worker of the browser: requests and events come from JavaScript and go back to it.

``static/site/worker.js`` imports this module in Pyodide. Everything crosses as text or bytes.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Mapping

from werkzeug.test import Client

from app.foundation.json_text import SocketJson
from app.lab.foundation.browser_identity import COOKIE
from app.lab.foundation.garbage import FullCollections
from app.lab.foundation.refusal import LabRefused
from app.lab.routes.search_order import NoteState, SearchOrder
from app.lab.session.host import LONG_REST_S
from app.site.application import create_site_application
from app.site.search_worker import SearchInWorker

#: A worker belongs to one page: its worlds need no secret that separates them from those of others.
BROWSER = "0" * 22

#: Takes the number of a connection, an event and its message as JSON; or that of a search and its order.
Post = Callable[[str, str, str], None]


class SiteWorker:
    """The application and the way to it."""

    def __init__(self, post: Post) -> None:
        # A world runs an event loop of its own, and Pyodide has one that counts as running.
        asyncio._set_running_loop(None)
        self._post = post
        self._searches: list[NoteState] = []
        self._collections = FullCollections()
        self.application = create_site_application(self, start_search=self._start_search)
        self._client = Client(self.application.app)
        self._client.set_cookie(COOKIE, BROWSER)
        gc.freeze()  # a third of all objects, which no collection need look at

    # ------------------------------------------------------------------------------ from the page

    def request(self, method: str, address: str, content_type: str, body: memoryview) -> tuple[int, str, bytes]:
        """Answer a request: status, headers as a JSON object, body."""
        answer = self._client.open(address, method=method, content_type=content_type or None, data=bytes(body))
        return answer.status_code, SocketJson.dumps(dict(answer.headers)), answer.get_data()

    def connect(self, connection: str) -> None:
        """Open a stream of the lab's events."""
        try:
            self.application.lab.connect(connection, BROWSER)
        except LabRefused as refusal:
            self.send([connection], "refused", refusal.as_json())

    def event(self, connection: str, event: str, message: str) -> None:
        """Handle one event of a page; ``message`` is JSON."""
        self.application.lab.event_received(connection, event, (SocketJson.loads(message),))

    def close(self, connection: str) -> None:
        """Close a stream."""
        self.application.lab.disconnect(connection)

    def search_reported(self, identity: str, state: str) -> None:
        """Note what the worker of a search reports, as JSON."""
        self._searches[int(identity)](SocketJson.loads(state))

    def work(self) -> float:
        """Work one slice, and return the seconds until there is more to do."""
        rest_s = self.application.lab.serve_once()
        self._collections.collect_if_due(is_quiet=rest_s >= LONG_REST_S)
        return rest_s

    def _start_search(self, order: SearchOrder, note: NoteState) -> SearchInWorker:
        self._searches.append(note)
        return SearchInWorker(str(len(self._searches) - 1), order, self._post)

    # ------------------------------------------------------------------------------ to the page

    def send(self, viewer_ids: list[str], event: str, payload: Mapping[str, object]) -> None:
        """Send one message to connections."""
        message = SocketJson.dumps(payload)
        for viewer_id in viewer_ids:
            self._post(viewer_id, event, message)

    def disconnect(self, viewer_id: str, reason: str) -> None:
        """Send the reason why a connection ends."""
        self._post(viewer_id, "goodbye", SocketJson.dumps({"reason": reason}))
