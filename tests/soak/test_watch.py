"""What the soak sees of the page."""

from __future__ import annotations

import socket
import threading
import time
from types import SimpleNamespace
from typing import cast

from tests.soak.soaked_broker import SoakedBroker
from tests.soak.watch import PageWatch


def test_what_a_kill_cuts_off_is_unanswered_after_the_kill():
    with socket.create_server(("127.0.0.1", 0)) as server:
        broker = SimpleNamespace(page=f"127.0.0.1:{server.getsockname()[1]}")
        watch = PageWatch(cast(SoakedBroker, broker))
        asking = threading.Thread(target=watch._ask)
        asking.start()
        connection, _ = server.accept()
        connection.recv(1)
        killed_s = time.monotonic()
        watch.stop()
        connection.close()
        asking.join()
    [(at_s, milliseconds)] = watch.answers
    assert milliseconds is None
    assert at_s >= killed_s
