"""Failures of Spark, as one line and as a sentence that names the kind of failure."""

from __future__ import annotations

import re

from engine.pipeline.errors import JobFailed
from engine.texts import Text, catalogue, joined

#: The last line of a traceback that is included as text: "package.module.SomeError: why". Spark sends the tracebacks of
#: its Python workers in this form.
_TRACEBACK_END = re.compile(r"^(?:[\w.]+\.)?([A-Z]\w*): (.+)$")
#: A job's own error, raised in a function that Spark called.
_OWN_ERROR = re.compile(r"^engine\.pipeline\.errors\.\w+: ", re.MULTILINE)
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
_LENGTH_MAX = 600

_JAVA_DID_NOT_START = "Java ended before Spark had started; the log says why"
_JAVA_IS_GONE = "Spark's Java process is gone; the log says why (too little memory, perhaps)"

#: The page shows ``job.failure.KIND`` before the English line; for the data source the kinds are its conditions.
_JAVA = {_JAVA_DID_NOT_START: "java_did_not_start", _JAVA_IS_GONE: "java_is_gone"}
#: Names that a line of the data source may mention as ``topic 'Orders'``.
_NAMED = ("option", "topic", "group", "broker", "queue", "column")
_NAMED_IN_LINE = re.compile(rf"\b({'|'.join(_NAMED)}) '([^']{{1,200}})'")
_KIND = re.compile(r"\[([A-Z][A-Z0-9_.]*)\]")


def failed(error: BaseException) -> JobFailed:
    """Return the failure for the user from ``error``, with which a job ended."""
    line = explain(error)
    failure = JobFailed(line)
    if _OWN_ERROR.search(str(error)) is None:
        failure.sentence = sentence(line)
    return failure


def sentence(line: str) -> Text:
    """Return the sentence for the kind of failure in a line of :func:`explain`, with the names in that line."""
    found = _KIND.match(line)
    kind = found[1] if found is not None else _JAVA.get(line)
    what, named = Text(f"job.failure.{kind}"), dict(_NAMED_IN_LINE.findall(line))
    if what.key not in catalogue("en"):
        return Text("job.failure.sentence", what=Text("job.failure.spark"))
    if not named:
        return Text("job.failure.sentence", what=what)
    names = [Text(f"job.failure.named.{kind}", name=name) for kind, name in named.items()]
    return Text("job.failure.sentence_named", what=what, named=joined("words.comma", names))


def explain(error: BaseException) -> str:
    """Return ``error`` as one line. Messages of a data source or of a function on an executor are extracted from
    Spark's wrapping.
    """
    from engine.pipeline.source.cluster.errors import explain as explain_source_error

    if (line := explain_source_error(error)) is not None:
        return _shortened(line)
    text = str(error)
    if "JAVA_GATEWAY_EXITED" in text:
        return _JAVA_DID_NOT_START
    kind = type(error).__name__
    # An error that Java itself reports has its trace; without one there was no answer.
    is_unanswered = kind == "Py4JError" and "Trace:" not in text
    if is_unanswered or kind in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError"):
        return _JAVA_IS_GONE
    if (inner := _innermost(text)) is not None:
        return _shortened(inner)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return _shortened(_SQL_STATE.sub("", first))


def _innermost(text: str) -> str | None:
    """Return the end of the last traceback in ``text``; None if there is no traceback."""
    if "Traceback (most recent call last)" not in text:
        return None
    after = text.rpartition("Traceback (most recent call last)")[2]
    for line in after.splitlines():
        # Lines of code and places are indented; the end of a traceback is not.
        if found := _TRACEBACK_END.match(line):
            return _SQL_STATE.sub("", found[2])
    return None


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _LENGTH_MAX else text[:_LENGTH_MAX] + " ..."
