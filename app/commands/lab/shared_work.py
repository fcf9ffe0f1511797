"""The workers of a sweep or a search: processes of this machine, or Spark."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from app.commands.lab.lab_options import PROCESSES_MAX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.lab.run.spread import Spread
    from engine.pipeline.jobs.simulation_fleet.spark_spread import SparkSpread

#: A search that ends sooner on one core would gain nothing: Spark needs 5 to 30 s to start.
SPARK_AFTER_S = 20.0

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def spark_is_missing(package: str | None) -> click.ClickException:
    """Return the error for a machine that lacks a package of the extra ``spark``."""
    from engine.pipeline.errors import PackageMissing

    return click.ClickException(str(PackageMissing(package)))


@contextlib.contextmanager
def shared_work(master: str | None, processes: int | None) -> Iterator[tuple[Spread, int]]:
    """Yield the workers and the number of work items that they take at a time: Spark, or processes (None: one per
    core).
    """
    if master is None:
        from concurrent.futures.process import BrokenProcessPool

        from app.sweep_processes import ProcessSpread

        count = processes if processes is not None else min(PROCESSES_MAX, os.cpu_count() or 1)
        try:
            yield ProcessSpread(count), count
        except BrokenProcessPool:
            problem = "one of the processes was killed, as by a system that is out of memory"
            raise click.ClickException(f"{problem}; allowed: fewer --processes") from None
        return
    with contextlib.ExitStack() as stack:
        on_spark = start_spread(master, stack)
        yield on_spark, on_spark.workers


def start_spread(master: str, stack: contextlib.ExitStack) -> SparkSpread:
    """Return Spark as a :class:`~engine.lab.run.spread.Spread`; it ends with ``stack``."""
    session = stack.enter_context(spark_session(master))
    from engine.pipeline.jobs.simulation_fleet.spark_spread import SparkSpread

    return SparkSpread(session)


@contextlib.contextmanager
def spark_session(master: str) -> Iterator[SparkSession]:
    """Yield a Spark session for work that needs no broker.

    The output of its Java process goes to a file that is shown only when Spark fails.
    """
    from engine.pipeline.errors import PipelineError

    click.echo(f"starting Spark on {master} ...", err=True)
    with tempfile.TemporaryDirectory(prefix="glassmq-spark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        log = folder / "spark.log"
        try:
            with _child_output_to(log):
                from engine.pipeline.session import make_session

                session = make_session("glassmq lab", master, folder, {"spark.ui.showConsoleProgress": "false"})
        except ImportError as error:
            raise spark_is_missing(error.name) from None
        except PipelineError as error:
            raise click.ClickException(str(error)) from None
        except Exception as error:
            last = log.read_text(errors="replace").strip().splitlines()[-1:]
            raise click.ClickException(f"Spark did not start on {master}: {error} {' '.join(last)}".strip()) from None
        try:
            yield session
        finally:
            session.stop()


@contextlib.contextmanager
def _child_output_to(path: Path) -> Iterator[None]:
    """Redirect the output of processes that are started in this context, and of their children, to the file."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for number, descriptor in enumerate(saved, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)


class LateSpark:
    """A :class:`~engine.lab.run.spread.Spread` that works in this process at first. After :data:`SPARK_AFTER_S` it
    starts Spark, within ``stack``, which does the rest.
    """

    def __init__(self, master: str, stack: contextlib.ExitStack) -> None:
        from app.pipeline.host import missing_package

        if missing := missing_package():
            raise spark_is_missing(missing)
        self._master = master
        self._stack = stack
        self._spread: Spread | None = None
        self._alone_until_s = time.monotonic() + SPARK_AFTER_S

    def __call__(
        self, function: Callable[[_Item], _Result], items: Sequence[_Item]
    ) -> Generator[tuple[int, _Result], None, None]:
        done = 0
        while done < len(items) and time.monotonic() < self._alone_until_s:
            yield done, function(items[done])
            done += 1
        if done == len(items):
            return
        if self._spread is None:
            self._spread = start_spread(self._master, self._stack)
        with contextlib.closing(self._spread(function, items[done:])) as coming:
            for index, result in coming:
                yield done + index, result
