"""Run by a test in a process of its own: jobs on executors that have Spark's packages and nothing else.

``python cluster_jobs_program.py WORK_FOLDER NAME_SERVER JOBS``, JOBS being JSON: ``[[job, arguments], ...]``. Writes
the tables of each run as JSON to its output. A run that follows is stopped when it has reported its tables once.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from engine.pipeline.jobs.report import JobReport
from engine.pipeline.jobs.runner import run_job
from engine.pipeline.session import make_session

MASTER = "local-cluster[2,1,512]"


class UntilTold(JobReport):
    """Ends the run when the last of its tables was reported."""

    def __init__(self, stop):
        self._stop = stop
        self.tables, self.notes = {}, []

    def table(self, name, rows, *, left_out=0):
        self.tables[name] = list(rows)
        if name in ("longest", "groups"):
            self._stop.set()

    def note(self, text):
        self.notes.append(text)


def main() -> None:
    folder, name_server, jobs = sys.argv[1:]
    conf = {"spark.executor.memory": "512m", "spark.driver.memory": "512m"}
    spark = make_session("cluster", MASTER, Path(folder), conf)
    reported = []
    for name, arguments in json.loads(jobs):
        stop = threading.Event()
        report = UntilTold(stop if arguments.get("follow") else threading.Event())
        run_job(name, arguments, {"nameServer": name_server}, MASTER, report, stop, session=spark)
        reported.append({"tables": report.tables, "notes": [note["en"] for note in report.notes]})
    spark.stop()
    print(json.dumps(reported, default=dict))


if __name__ == "__main__":
    main()
