"""What goes wrong in the pipeline by no fault of the program."""

from __future__ import annotations


class PipelineError(Exception):
    """The base of them all."""


class JobFailed(PipelineError):
    """A job cannot go on; the text says what was wrong and what is allowed."""


class UnknownJob(PipelineError):
    """There is no job of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"there is no job {name!r}; there are {', '.join(known)}")


class WrongArgument(PipelineError):
    """An argument of a job is missing, unknown or out of its range."""
