"""``make bench``: GlassMQ compared with a real RocketMQ, and Spark's reading compared with other ways, on this machine.

Without options both parts. Options are those of the first part, alone; those after the word ``spark`` of the second,
:mod:`tests.benchmarks.spark.spark_run`: ``make bench BENCH="spark --rounds 1"``. After the word ``idempotence`` come
those of :mod:`tests.benchmarks.idempotence`, after ``kafka`` those of :mod:`tests.benchmarks.kafka`, after
``replication`` those of :mod:`tests.benchmarks.replication`, after ``leadership`` those of
:mod:`tests.benchmarks.leadership`, after ``lab`` those of :mod:`tests.benchmarks.lab`, after ``scale`` those of
:mod:`tests.benchmarks.scale.scale_run`, after ``testkit`` those of :mod:`tests.benchmarks.testkit`; each runs alone.

All brokers run at once and take turns under load, in changing order, for several rounds: what disturbs the machine
disturbs all. Each measurement is one process of RocketMQ's Java client, which warms up first, and a new topic; a rate
that the broker's store does not bear out is an error. Nothing fails because of a number: this is no test.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks import idempotence, kafka, lab, leadership, replication, testkit
from tests.benchmarks.brokers import (
    BROKERS,
    Starter,
    check_form,
    choose_starters,
    measure_memory,
    measure_starts,
    new_folder,
)
from tests.benchmarks.comparison import Comparison
from tests.benchmarks.document import parse_with_document, publish
from tests.benchmarks.loads import LOADS, Lengths, Load, LoadProgram, best_load_program, possible_loads
from tests.benchmarks.rounds import run_rounds
from tests.benchmarks.scale import scale_run
from tests.benchmarks.spark import spark_run
from tests.interop.harness.cluster import Cluster

MARK = "make bench"
_PARTS = {
    "idempotence": idempotence.main,
    "kafka": kafka.main,
    "lab": lab.main,
    "leadership": leadership.main,
    "replication": replication.main,
    "scale": scale_run.main,
    "spark": spark_run.main,
    "testkit": testkit.main,
}


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The options that shorten a run, and where its result goes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="times every load runs on every broker (default 5)")
    parser.add_argument("--warm-up", type=float, default=3, help="seconds before a load is measured (default 3)")
    parser.add_argument("--seconds", type=float, default=5, help="for which a load is measured (default 5)")
    parser.add_argument("--backlog", type=int, default=200_000, help="messages of a drain (default 200,000)")
    parser.add_argument("--loads", default=",".join(LOADS), help=f"default {','.join(LOADS)}")
    parser.add_argument(
        "--brokers",
        default=",".join(BROKERS),
        help="some of them; glassmq is the compiled form where make fast has built it (default all)",
    )
    parser.add_argument("--starts", type=int, default=5, help="times each broker is started (default 5)")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    options = parse_with_document(parser, arguments, [MARK])
    for name, allowed in (("loads", tuple(LOADS)), ("brokers", BROKERS)):
        chosen = getattr(options, name).split(",")
        unknown = sorted(set(chosen) - set(allowed))
        if unknown:
            parser.error(f"--{name}: no {', '.join(unknown)}; allowed: {', '.join(allowed)}")
        if options.write and set(chosen) != set(allowed):
            parser.error(f"--write replaces all figures, so it goes with all --{name}")
    if min(options.rounds, options.starts) < 1 or min(options.warm_up, options.seconds) <= 0:
        parser.error("--rounds and --starts: at least 1; --warm-up and --seconds: more than 0")
    if not 1_000 <= options.backlog <= 1_000_000:
        parser.error("--backlog: 1,000 to 1,000,000")
    return options


def main(arguments: list[str]) -> int:
    """Both parts with what they usually measure; with options only the part that they belong to."""
    if arguments[:1] and arguments[0] in _PARTS:
        return _PARTS[arguments[0]](arguments[1:])
    code = measure_brokers(arguments)
    return code if arguments else code or spark_run.main([])


def measure_brokers(arguments: list[str]) -> int:
    """Measure, print the tables, write the document and the JSON file."""
    options = parse_arguments(arguments)
    program, notes = best_load_program()
    loads, left_out = possible_loads(program, options.loads.split(","))
    starters, missing = choose_starters(options.brokers.split(","))
    notes += left_out + missing
    if options.write and notes:
        print(f"--write replaces all figures, and not all can be measured: {'; '.join(notes)}", file=sys.stderr)
        return 2
    found = _compare(options, program, loads, starters, notes)
    publish(options.write, MARK, found.as_markdown())
    if options.json:
        options.json.write_text(json.dumps(asdict(found), indent=2) + "\n", "utf-8")
    return 0


def _compare(
    options: argparse.Namespace, program: LoadProgram, loads: list[Load], starters: list[Starter], notes: list[str]
) -> Comparison:
    lengths = Lengths(options.warm_up, options.seconds, options.backlog)
    with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as name:
        folder = Path(name)
        starts = measure_starts(starters, options.starts, folder)
        clusters: list[Cluster] = []
        try:
            for kind, start in enumerate(starters):
                clusters.append(start(new_folder(folder / f"cluster-{kind}")))
                clusters[-1].wait_until_started()
                check_form(clusters[-1])
            measurements = run_rounds(clusters, program, loads, options.rounds, lengths, folder)
            memory = [measure_memory(cluster) for cluster in clusters]
        finally:
            for cluster in clusters:
                cluster.stop()
    labels = [cluster.label for cluster in clusters]
    now = dt.datetime.now(dt.UTC)
    return Comparison(
        date=f"{now.day} {now:%B %Y}",
        program=program.label,
        lengths=lengths,
        rounds=options.rounds,
        loads=loads,
        labels=labels,
        real=next((label for label in labels if label.startswith("RocketMQ")), None),
        measurements=measurements,
        starts=starts,
        memory=memory,
        notes=notes,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
