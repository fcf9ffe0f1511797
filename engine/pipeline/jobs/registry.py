"""Registry of jobs by name. Each is a package with ``description.py`` (``DESCRIPTION``, no Spark) and ``job.py``
(``JOB``, and ``CHECK`` if its arguments need more than their kinds check).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from engine.pipeline.errors import UnknownJob
from engine.pipeline.jobs.description import JobDescription

if TYPE_CHECKING:
    from engine.pipeline.jobs.job import ArgumentCheck, Job

#: All names, in the order in which they are listed.
JOB_NAMES: tuple[str, ...] = (
    "delivery-audit",
    "transaction-reconciliation",
    "traffic",
    "archive",
    "backlog-relief",
    "simulation-fleet",
)


def describe(name: str) -> JobDescription:
    """Return the description of a job. Raises :class:`~engine.pipeline.errors.UnknownJob`."""
    description = import_module(f"{_package(name)}.description").DESCRIPTION
    assert isinstance(description, JobDescription)
    return description


def load_job(name: str) -> tuple[Job, ArgumentCheck]:
    """Import the job, and PySpark with it, and return the job and the check of its arguments.

    Raises :class:`~engine.pipeline.errors.UnknownJob`.
    """
    module = import_module(f"{_package(name)}.job")
    return module.JOB, getattr(module, "CHECK", lambda _: None)


def _package(name: str) -> str:
    if name not in JOB_NAMES:
        raise UnknownJob(name, JOB_NAMES)
    return f"engine.pipeline.jobs.{name.replace('-', '_')}"
