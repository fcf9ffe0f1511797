"""A lab world's broker does not speak in the server's log."""

import logging
import threading

from app.lab.foundation.log_filter import LAB_THREAD, NotFromLabWorlds
from app.observation.recent_log import RecentLog


def test_only_the_lab_thread_s_own_words_reach_the_log():
    recent = RecentLog()
    recent.addFilter(NotFromLabWorlds())

    def speak():
        for name in ("glassmq.broker", "glassmq.lab.host", "asyncio"):
            recent.handle(logging.LogRecord(name, logging.WARNING, "", 0, f"{name} speaks", (), None))

    thread = threading.Thread(target=speak, name=LAB_THREAD)
    thread.start()
    thread.join()
    assert [line["text"] for line in recent.lines()] == ["glassmq.lab.host speaks"]
    speak()
    assert len(recent.lines()) == 4
