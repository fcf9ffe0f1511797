"""What goes wrong in the pipeline by no fault of the program."""

from __future__ import annotations

from engine.texts import Text

#: What brings the packages that the pipeline needs.
INSTALL_HINT = "pip install 'glassmq[spark]'"


class PipelineError(Exception):
    """The base of them all. As text: one English line, all that there is to say.

    :param said: a text for the user, or what somebody else said, in English only.
    :ivar sentence: what a user is told.
    :ivar detail: what else there is to say, in English only: the words of Spark, or of whoever else failed. None:
        the sentence says it all.
    """

    def __init__(self, said: Text | str) -> None:
        super().__init__(str(said))
        self.sentence = said if isinstance(said, Text) else Text("job.failure.any")
        self.detail = None if isinstance(said, Text) else said


class JobFailed(PipelineError):
    """A job cannot go on; the text says what was wrong and what is allowed."""


class PackageMissing(JobFailed):
    """This Python lacks a package of the extra ``spark``."""

    def __init__(self, package: str | None) -> None:
        super().__init__(Text("job.error.no_package", package=package, hint=INSTALL_HINT))


class UnknownJob(PipelineError):
    """There is no job of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        names = ", ".join(known)
        super().__init__(Text("job.error.no_job", name=name, names=names))


class WrongArgument(PipelineError):
    """An argument of a job is missing, unknown or out of its range."""
