"""Description of the job."""

from __future__ import annotations

from engine.pipeline.jobs.description import JobDescription, JobParameter, JobTable, ParameterKind, cell_texts, columns
from engine.texts import Text

#: Beyond this a sweep takes weeks.
SEEDS_MAX = 1_000_000
SEED_MAX = 2**53 - 1

KINDS_TABLE = "fault_kinds"
FINDINGS_TABLE = "counterexamples"

#: The lab's kinds of faults and names of broken invariants, in the lab's words.
FAULTS = cell_texts(
    "crash",
    "crash-power",
    "pause",
    "partition",
    "delay",
    "loss",
    "duplicate",
    "reorder",
    "clock-skew",
    "disk",
    "wipe",
    "flip",
    "last-second",
    "listener",
    "group",
    room="job.fault.",
)
ANOMALIES = cell_texts(
    "lost write", "duplicate", "out of order", "skipped", "ghost read", "two owners", "stuck", "broken code"
)

DESCRIPTION = JobDescription(
    name="simulation-fleet",
    title=Text("job.simulation-fleet.title"),
    about=Text("job.simulation-fleet.about"),
    parameters=(
        JobParameter("scenario", ParameterKind.SCENARIO, required=True),
        JobParameter("seeds", ParameterKind.INTEGER, default=1_000, minimum=1, maximum=SEEDS_MAX),
        JobParameter("first_seed", ParameterKind.INTEGER, default=1, minimum=0, maximum=SEED_MAX - SEEDS_MAX),
        JobParameter("faults", ParameterKind.CHOICE, default="random", choices=("none", "random")),
        JobParameter("results_folder", ParameterKind.FOLDER),
        JobParameter("chunk", ParameterKind.INTEGER, minimum=1, maximum=10_000),
        JobParameter("address", ParameterKind.TEXT, default=""),
    ),
    tables=(
        JobTable(
            KINDS_TABLE,
            (
                *columns("kind", cells={"kind": FAULTS}, job="simulation-fleet"),
                *columns("runs", "bad", "rate", "low", "high", "alone", "alone_bad"),
            ),
            bad_column="bad",
        ),
        JobTable(
            FINDINGS_TABLE,
            (
                *columns("invariant", "anomaly", cells={"anomaly": ANOMALIES}),
                *columns("runs", job="simulation-fleet"),
                *columns("seed", "faults", "event"),
                *columns("what", job="simulation-fleet"),
                *columns("link"),
            ),
            bad_column="runs",
        ),
    ),
)
