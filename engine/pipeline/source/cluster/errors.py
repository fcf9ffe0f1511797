"""Errors between Spark and a cluster, as conditions in Spark's form: ``[ROCKETMQ_UNKNOWN_TOPIC] ...``.

Spark's Python workers pass an error to the JVM as text, so a user sees it inside an ``AnalysisException``,
``PythonException`` or ``StreamingQueryException`` of Spark; :func:`explain` finds it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import TracebackType

from pyspark.errors import PySparkException

from engine.protocol.errors import ProtocolError

#: Condition -> its meaning. ``docs/pipeline.md`` has the same list.
CONDITIONS: dict[str, str] = {
    "ROCKETMQ_WRONG_OPTION": "an option is unknown, missing, or its value is not allowed",
    "ROCKETMQ_UNKNOWN_TOPIC": "no broker of the cluster has the topic (any more), or no topic matches the pattern",
    "ROCKETMQ_NAME_SERVER_AWAY": "no name server that was given answers",
    "ROCKETMQ_BROKER_AWAY": "a broker that holds queues of the topic does not answer, or has no master",
    "ROCKETMQ_OFFSETS_GONE": "messages to be read no longer exist (or never did)",
    "ROCKETMQ_REFUSED": "the broker refuses the request: access control, permissions, settings of the broker",
    "ROCKETMQ_BROKEN_MESSAGE": "a stored message, or another answer of a node, cannot be decoded",
    "ROCKETMQ_WRONG_ROW": "a DataFrame to be written has a column or a value that no message can have",
    "ROCKETMQ_SEND_FAILED": "messages could not be stored",
}

_IN_TEXT = re.compile(rf"\[({'|'.join(CONDITIONS)})\] [^\n]*")


class RocketMQError(PySparkException):
    """An error with one of the :data:`CONDITIONS`; the message is one line for the user."""

    def __init__(self, condition: str, text: str) -> None:
        assert condition in CONDITIONS, condition
        line = " ".join(text.split())
        super().__init__(message=line, errorClass=condition, messageParameters={"text": line})
        self.condition = condition
        self.text = line

    def __reduce__(self) -> tuple[type[RocketMQError], tuple[str, str]]:
        return type(self), (self.condition, self.text)

    def __str__(self) -> str:
        return f"[{self.condition}] {self.text}"


def wrong_option(name: str, text: str) -> RocketMQError:
    """Return the error for option ``name``; ``text`` says what was given and what is allowed."""
    return RocketMQError("ROCKETMQ_WRONG_OPTION", f"option {name!r}: {text}")


class Briefly:
    """``with Briefly():`` removes the traceback within the source from a :class:`RocketMQError`; an unreadable answer
    of a node becomes one.

    Spark shows a traceback above each error of a data source; the user's mistake is in the last line.
    """

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if isinstance(error, RocketMQError):
            raise error.with_traceback(None) from None
        if isinstance(error, ProtocolError):
            raise RocketMQError("ROCKETMQ_BROKEN_MESSAGE", f"the answer of a node cannot be read: {error}") from None


def explain(error: BaseException) -> str | None:
    """Return the line ``[ROCKETMQ_...] ...`` of an error that Spark raised; None for any other error."""
    for text in _texts(error):
        found = _IN_TEXT.search(text)
        if found is not None:
            return found.group()
    return None


def _texts(error: BaseException) -> Iterator[str]:
    current: BaseException | None = error
    for _ in range(10):
        if current is not None:
            yield str(current)
            current = current.__cause__ or current.__context__
