"""What brokers and clients of lab worlds log is part of a story and no news about this server: it is left out."""

from __future__ import annotations

import logging

#: Name of the thread in which all lab worlds run.
LAB_THREAD = "lab"
#: What the lab itself has to say.
_HOST_LOG = "glassmq.lab.host"
#: What lab worlds report of themselves; the garbage collector may do so in any thread.
_WORLDS_LOG = "glassmq.lab"


class NotFromLabWorlds(logging.Filter):
    """For the handlers of a server's log."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets everything pass that does not come out of a lab world."""
        return record.name == _HOST_LOG or (record.threadName != LAB_THREAD and record.name != _WORLDS_LOG)
