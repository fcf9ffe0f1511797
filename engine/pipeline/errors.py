"""Errors of the pipeline that are not faults of the program."""

from __future__ import annotations

from engine.texts import Text

#: How to install the packages that the pipeline needs.
INSTALL_HINT = "pip install 'glassmq[spark]'"


class PipelineError(Exception):
    """Base of the pipeline's errors. As text, an error is one English line with everything there is to report.

    :param said: a text for the user, or another program's message, in English only.
    :ivar sentence: the text for the user.
    :ivar detail: further information, in English only: the message of Spark or another program that failed; None if the
        sentence is complete.
    """

    def __init__(self, said: Text | str) -> None:
        super().__init__(str(said))
        self.sentence = said if isinstance(said, Text) else Text("job.failure.any")
        self.detail = None if isinstance(said, Text) else said


class JobFailed(PipelineError):
    """A job cannot continue; the text says what was wrong and what is allowed."""


class PackageMissing(JobFailed):
    """This Python lacks a package of the extra ``spark``."""

    def __init__(self, package: str | None) -> None:
        super().__init__(Text("job.error.no_package", package=package, hint=INSTALL_HINT))


class UnknownJob(PipelineError):
    """There is no job with this name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        names = ", ".join(known)
        super().__init__(Text("job.error.no_job", name=name, names=names))


class WrongArgument(PipelineError):
    """An argument of a job is missing, unknown or out of range."""
