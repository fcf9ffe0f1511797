"""``make soak``: a real ``glassmq serve`` under everything at once, for an hour, and a judgement at the end.

Three kinds of clients, order, transactions, retries, a flood, readers that never read, kill -9, a full disk, a page
that is looked at. The report with its plots is in a folder; exit code 1 says that a judgement failed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from engine.client.foundation.errors import MQClientError
from tests.soak.clients import SoakClients, languages_to_be_had
from tests.soak.judge import Outcome, judge
from tests.soak.load import Load
from tests.soak.plan import make_plan
from tests.soak.report import write_report
from tests.soak.soaked_broker import SoakedBroker, disk_in
from tests.soak.streams import FLOOD, streams_of
from tests.soak.texts import sentence

_FOLDER_NAME = "%Y-%m-%d_%H-%M-%S"


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Everything has a default: ``make soak`` alone is the hour."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long the load lasts (default 60)")
    parser.add_argument("--kill-every", type=float, metavar="MINUTES", help="default 5, less in a short run; 0: never")
    parser.add_argument("--flood", type=int, default=10_000, help="messages of one burst (default 10000)")
    parser.add_argument("--slow-readers", type=int, default=20, help="connections that never read (default 20)")
    parser.add_argument(
        "--flush", choices=["async", "sync"], default="async", help="the broker's flush (default async)"
    )
    parser.add_argument("--disk-mib", type=int, default=4096, help="room for the broker's files (default 4096)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    parser.add_argument(
        "--no-judge-times", dest="judge_times", action="store_false", help="for a machine that does other work, too"
    )
    parser.add_argument("--report", type=Path, help="folder of the report (default test-results/soak/TIME)")
    options = parser.parse_args(arguments)
    if options.minutes < 1:
        parser.error("--minutes: at least 1")
    if options.report and options.report.exists():
        parser.error(f"--report: {options.report} exists already")
    return options


def main(arguments: list[str]) -> int:
    """Run, judge, report."""
    options = parse_arguments(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # processes and mount go away then too
    folder = (options.report or Path("test-results/soak") / time.strftime(_FOLDER_NAME)).resolve()
    (folder / "logs").mkdir(parents=True)
    plan = make_plan(options.minutes, options.kill_every, options.seed)
    languages, left_out = languages_to_be_had()
    with disk_in(folder / "disk", options.disk_mib) as disk:
        if not disk.can_be_filled:
            left_out.append("disk full: only root may mount a file system here")
        broker = SoakedBroker(disk, folder / "logs", options.flush)
        clients = SoakClients(broker.name_server, broker.broker, folder / "logs")
        load = Load(broker, clients, plan, [*streams_of(languages), FLOOD], _say)
        load.history.left_out = left_out
        load.history.judges_times = options.judge_times
        _say(f"The soak lasts {options.minutes:g} minutes, with {len(plan.kills_s)} kills; its folder is {folder}")
        for reason in left_out:
            _say(f"left out: {reason}")
        try:
            load.run(options.flood, options.slow_readers)
        except (AssertionError, MQClientError, OSError) as error:  # the broker is gone, or does not come back
            load.history.broke = f"{type(error).__name__}: {error}"
        finally:
            clients.stop()
            for process in broker.lives:
                process.stop()
        load.history.tracebacks = broker.tracebacks()
    judgements = judge(load.history)
    write_report(folder, load.history, judgements, vars(options))
    for judgement in judgements:
        _say(f"{judgement.outcome:<9}  {sentence(judgement, 'en')}")
    _say(f"report: {folder / 'report.html'}")
    return 1 if any(judgement.outcome is Outcome.FAILED for judgement in judgements) else 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
