"""What goes wrong in the pipeline by no fault of the program."""

from __future__ import annotations

from collections.abc import Mapping

#: Where nobody has said it in both languages.
_CANNOT_GO_ON = {"en": "The job cannot go on.", "zh": "作业无法继续。"}


#: What brings the packages that the pipeline needs.
INSTALL_HINT = "pip install 'glassmq[spark]'"


class PipelineError(Exception):
    """The base of them all. As text: one English line, all that there is to say.

    :ivar sentence: what a user is told, in both languages.
    :ivar detail: what else there is to say, in English only: the words of Spark, or of whoever else failed. None:
        the sentence says it all.
    """

    def __init__(self, english: str, chinese: str | None = None) -> None:
        super().__init__(english)
        self.sentence: Mapping[str, str] = _CANNOT_GO_ON
        self.detail: str | None = english
        if chinese is not None:
            self.sentence, self.detail = {"en": english, "zh": chinese}, None


class JobFailed(PipelineError):
    """A job cannot go on; the text says what was wrong and what is allowed."""


class PackageMissing(JobFailed):
    """This Python lacks a package of the extra ``spark``."""

    def __init__(self, package: str | None) -> None:
        super().__init__(f"{package} is missing: {INSTALL_HINT}", f"缺少 {package}：{INSTALL_HINT}")


class UnknownJob(PipelineError):
    """There is no job of that name."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        names = ", ".join(known)
        super().__init__(f"there is no job {name!r}; there are {names}", f"没有作业 {name!r}；现有作业：{names}")


class WrongArgument(PipelineError):
    """An argument of a job is missing, unknown or out of its range."""
