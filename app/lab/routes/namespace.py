"""The Socket.IO namespace ``/lab``.

A page sends ``open`` and ``control`` (:mod:`app.lab.session.requests`), ``command``
(:mod:`engine.lab.scenario.command`), ``acknowledge`` with the sequence number of the newest patch that it has, and
``resync`` to get a snapshot.

It gets ``snapshot``, ``patch``, ``journal`` and ``found`` (:mod:`app.picture.session.messages`,
:mod:`app.picture.session.journal`), ``refused`` (:class:`app.picture.refusal.Refusal`), and ``goodbye`` with a reason
before the server ends the connection.
"""

from __future__ import annotations

from typing import Any

from app.lab.foundation.browser_identity import browser_of_connection, browser_of_cookies
from app.lab.foundation.refusal import LabRefused
from app.lab.session.host import LabHost
from app.web.socketio import Namespace, SocketConnectionRefused

NAMESPACE = "/lab"


class LabNamespace(Namespace):
    """Hands every event of a browser, known or not, to the host, which limits and checks them."""

    def __init__(self, host: LabHost) -> None:
        super().__init__(NAMESPACE)
        self._host = host

    def trigger_event(self, event: str, *arguments: Any) -> None:
        """Handle an event.

        Socket.IO passes the session id first, then the WSGI environment or the event's arguments.
        """
        viewer_id = str(arguments[0])
        match event:
            case "connect":
                environ = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], dict) else {}
                browser = browser_of_cookies(environ.get("HTTP_COOKIE", "")) or browser_of_connection(viewer_id)
                try:
                    self._host.connect(viewer_id, browser)
                except LabRefused as refusal:
                    raise SocketConnectionRefused(str(refusal), refusal.as_json()) from None
            case "disconnect":
                self._host.disconnect(viewer_id)
            case _:
                self._host.event_received(viewer_id, event, arguments[1:])
