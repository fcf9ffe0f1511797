"""Keeps the logs of brokers and clients of lab worlds out of the server's log: they are part of a scenario."""

from __future__ import annotations

import logging

#: The name of the thread in which all lab worlds run.
LAB_THREAD = "lab"
#: The logger of the lab itself.
_HOST_LOG = "glassmq.lab.host"
#: The logger of lab worlds; the garbage collector may use it in any thread.
_WORLDS_LOG = "glassmq.lab"


class NotFromLabWorlds(logging.Filter):
    """A filter for the handlers of a server's log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True for every record that does not come from a lab world."""
        return record.name == _HOST_LOG or (record.threadName != LAB_THREAD and record.name != _WORLDS_LOG)
