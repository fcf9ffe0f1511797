"""Stands in for ``glassmq pipeline`` with the job of ``tiny_job.py``: the same lines, in no time, no Spark.

    python -m tests.support.pipeline.fake_job tiny --json --way=flood ...

Its ``way`` says how it behaves, or misbehaves.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

from engine.pipeline.jobs.failure import sentence
from tests.support.pipeline.tiny_job import both

OPTIONS = dict(text.removeprefix("--").partition("=")[::2] for text in sys.argv[2:])
STOP = threading.Event()


def report(event, **fields):
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def batch(number, rows=1200):
    at = f"2026-11-22T04:{number // 60 % 60:02d}:{number % 60:02d}.000Z"
    report(
        "batch", batch=number, query=None, at=at, rows=rows,
        input_rows_per_s=1000.0 + 40 * (number % 7), processed_rows_per_s=4000.0 + 300 * (number % 5),
        total_ms=120 + 9 * (number % 6), durations_ms={"addBatch": 90}, lag=max(0, 900 - 60 * number),
    )  # fmt: skip


def results(done, total):
    report("progress", done=done, total=total, unit="messages")
    rows = [["lost in transit", 3, 0.0025, 3], [both("twice"), 1, 0.0008, 1], ["in order", 1196, 0.9967, 0]]
    report("table", name="counts", rows=rows, left_out=0)
    report("point", plot="speed", series="all", x=1795000000000 + 1000 * done, y=900.0 + 5 * (done % 50))
    report("point", plot="speed", series="broker-a:1", x=1795000000000 + 1000 * done, y=500.0 + 9 * (done % 30))
    reached = {f"broker-a:{queue}": min(1200, 40 * done + 90 * queue) for queue in range(4)}
    report("offsets", reached={"orders": reached}, latest={"orders": dict.fromkeys(reached, 1200)})


def follow():
    number = 0
    while not STOP.wait(0.05):
        number += 1
        batch(number)
        results(number, None)
    report("stopped")


def batch_way():
    results(20, 20)
    report("ended")


def misbehave(way):
    match way:
        case "fail":
            line = "[ROCKETMQ_UNKNOWN_TOPIC] the cluster has no topic 'orders'"
            report("failed", error=line, text=dict(sentence(line)), detail=line)
            sys.exit(1)
        case "silent":
            os.kill(os.getpid(), signal.SIGKILL)
        case "garbage":
            sys.stdout.buffer.write(b"\xff\xfe no json\n[1, 2]\n" + b"[" * 100_000 + b"\n")
            report("table", name="no such table", rows=[])
            report("table", name="counts", rows=[["too few cells"]])
            report("table", name="counts", rows=[[{"a": 1}, 1, 1, 1]])
            report("table", name=["counts"], rows=[])
            report("point", plot={}, series="s", x=1, y=1)
            report("progress", done=-1, total=5, unit="messages")
            report("point", plot="speed", series="s", x=float("nan"), y=1)
            report("offsets", reached=5)
            report("offsets", reached={"orders": {"broker-a": 5}})
            report("nonsense")
            batch_way()
        case "long-line":
            sys.stdout.write("x" * 9_000_000)
            sys.stdout.flush()
            STOP.wait()
        case "finish":
            # It was about to end anyway when it was asked to.
            STOP.wait()
            batch_way()
        case "break":
            STOP.wait()
            report("failed", error="it broke on its way out")
        case "flood":
            while not STOP.is_set():
                report("point", plot="speed", series="s", x=time.time(), y=1.0)
                report("note", text=both("again"))
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            # A grandchild in a group of its own, as Spark's Python workers are.
            subprocess.Popen([sys.executable, "-c", "import os, time; os.setpgid(0, 0); time.sleep(600)"])
            report("note", text=both("deaf"))
            time.sleep(600)


def main():
    signal.signal(signal.SIGTERM, lambda *_: STOP.set())
    report("starting", job="tiny", master=OPTIONS.get("master"))
    report("running")
    report("note", text=both("Counting."))
    if "follow" in OPTIONS:
        follow()
    elif OPTIONS.get("way", "batch") == "batch":
        batch_way()
    else:
        misbehave(OPTIONS["way"])


if __name__ == "__main__":
    main()
