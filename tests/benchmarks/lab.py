"""``make bench BENCH=lab``: how fast the lab runs worlds, in both forms of the engine.

Figures by the processor time of one process: events per second of a sweep of ``big-stage`` under all checkers, the time
that its first 10,000 events take again, and schedules per second of a search of ``two-consumers`` with at most one
stall, each schedule from its beginning. Then the same search by forks: by the processor time of all its processes, and
by the clock with one process per core. Each form has a process of its own, and they take turns round by round: what
disturbs the machine disturbs both. It is a measurement, not a test: it never fails because of a number.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from engine.compiled.form import BuildUnusable, choose_form, usable_modules
from tests.benchmarks.document import machine, parse_with_document, publish
from tests.benchmarks.tables import Figure, figure_table
from tests.interop.harness.installs import REPOSITORY

_MARK = "make bench lab"
_EVENTS_AGAIN = 10_000
_FORMS = ("interpreted", "compiled")
#: Name, and decimal places.
_FIGURES = (
    ("sweep of `big-stage`, events/s", 0),
    (f"{_EVENTS_AGAIN:,} events of `big-stage` again, s", 2),
    ("search of `two-consumers` without forks, schedules/s of one core", 0),
    ("the same by forks, schedules/s of one core", 0),
    ("the same by forks on all cores, schedules/s by the clock", 0),
)


class FormProcess:
    """One process that measures in one form, whenever it is asked."""

    def __init__(self, form: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.lab", "--form", form],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def measure(self) -> list[float]:
        """All of :data:`_FIGURES`, once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("measure\n")
        self._process.stdin.flush()
        return [float(word) for word in self._process.stdout.readline().split()]

    def close(self) -> None:
        """It ends."""
        self._process.communicate()


def measurements() -> tuple[Callable[[], float], ...]:
    """What measures each of :data:`_FIGURES`. The engine is imported only now, in the form that was chosen."""
    from app.foundation.forked_processes import ForkedProcesses, usable_cores
    from engine.lab.explorer.exploration import Exploration
    from engine.lab.explorer.plan import ExplorationRequest, make_plan
    from engine.lab.run.run import LabRun
    from engine.lab.run.spread import silence_logging
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.sweep import run_seed

    silence_logging()
    # As processes of sweeps and searches do.
    gc.collect()
    gc.freeze()
    stage = load_scenario("big-stage")
    plan = make_plan(ExplorationRequest(load_scenario("two-consumers"), max_stalls=1))

    def sweep() -> float:
        began = time.process_time()
        events = run_seed(stage, 1, random_faults=False).events
        return events / (time.process_time() - began)

    def again() -> float:
        with LabRun(stage) as run:
            began = time.process_time()
            run.run_events(_EVENTS_AGAIN)
            return time.process_time() - began

    def search(processes: int, clock: Callable[[], float]) -> float:
        forks = ForkedProcesses(processes) if processes else None
        exploration, began = Exploration(plan, forks=forks), clock()
        for _ in exploration.steps():
            pass
        return exploration.state.bounded.schedules / (clock() - began)

    def of_one_core() -> float:
        return sum(os.times()[:4])

    return (
        sweep,
        again,
        lambda: search(0, of_one_core),
        lambda: search(1, of_one_core),
        lambda: search(usable_cores(), time.perf_counter),
    )


def answer(form: str) -> None:
    """Measure once for each line that comes in."""
    chosen = choose_form(wants_compiled=form == "compiled")
    assert chosen.name == form, chosen.why
    functions = measurements()
    for measure in functions:
        measure()  # the first time code and caches are cold
    for _ in sys.stdin:
        print(*(measure() for measure in functions), flush=True)


def table(measured: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """Median, and from the least to the most."""
    figures = [
        Figure(name, {form: [row[number] for row in rows] for form, rows in measured.items()}, digits=digits)
        for number, (name, digits) in enumerate(_FIGURES)
    ]
    return figure_table("", figures, list(measured), None)


def main(arguments: list[str]) -> int:
    """Measure and print; ``--write`` writes the same into a document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="(default 5)")
    parser.add_argument("--form", choices=_FORMS, help=argparse.SUPPRESS)
    options = parse_with_document(parser, arguments, [_MARK])
    if options.form:
        answer(options.form)
        return 0
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    forms = list(_FORMS)
    try:
        usable_modules()
    except BuildUnusable as reason:
        print(f"no compiled form: {reason}")
        forms.remove("compiled")
    processes = {form: FormProcess(form) for form in forms}
    figures: dict[str, list[list[float]]] = {form: [] for form in forms}
    try:
        for _ in range(options.rounds):
            for form, process in processes.items():
                figures[form].append(process.measure())
    finally:
        for process in processes.values():
            process.close()
    head = f"{machine()}; {options.rounds} rounds, processor time of one process; median (least..most)."
    publish(options.write, _MARK, f"{head}\n\n{table(figures)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
