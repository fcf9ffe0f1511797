"""Processes of the server: they run at low priority, and end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from app.foundation.worker_process import NICENESS, WorkerProcess

ROOT = Path(__file__).parents[3]
STARTS_ONE_AND_IS_KILLED = """
import os, signal
from app.foundation.worker_process import WorkerProcess
from tests.app.foundation import test_worker_process
worker = WorkerProcess("worker", test_worker_process.report_and_stay)
print(worker.receiver.recv(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def report_and_stay(sender):
    sender.send("at work")
    time.sleep(200)


def report_how_it_lives(sender, question):
    sender.send((question, os.nice(0), signal.getsignal(signal.SIGINT) == signal.SIG_IGN))


def test_a_worker_ends_with_a_parent_that_was_killed():
    command = [sys.executable, "-c", STARTS_ONE_AND_IS_KILLED]
    # The worker has the parent's stdout: as long as it lives there is no end of it.
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=100, check=False)
    assert (ended.stdout, ended.returncode) == (b"at work\n", -signal.SIGKILL)


def test_a_worker_gives_way_and_leaves_ctrl_c_to_its_parent():
    worker = WorkerProcess("worker", report_how_it_lives, "how?")
    assert worker.receiver.recv() == ("how?", min(19, os.nice(0) + NICENESS), True)
    worker.close()
    assert not worker.process.is_alive()


def test_a_worker_that_nobody_listens_to_goes_quietly(capfd):
    worker = WorkerProcess("worker", report_how_it_lives, "anybody?")
    worker.receiver.close()
    worker.process.join(100)
    assert worker.process.exitcode == 0
    assert capfd.readouterr().err == ""
