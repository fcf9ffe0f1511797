"""What went wrong in Spark, as one line, and as a sentence in both languages that says what kind of failure it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.pipeline.errors import JobFailed

#: The last line of a traceback that came along as text: "package.module.SomeError: why". Spark sends the tracebacks of
#: its Python workers so.
_TRACEBACK_END = re.compile(r"^(?:[\w.]+\.)?([A-Z]\w*): (.+)$")
#: A job's own error, raised in a function that Spark called.
_OWN_ERROR = re.compile(r"^engine\.pipeline\.errors\.\w+: ", re.MULTILINE)
_SQL_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
_LENGTH_MAX = 600

_JAVA_DID_NOT_START = "Java ended before Spark had started; the log says why"
_JAVA_IS_GONE = "Spark's Java process is gone; the log says why (too little memory, perhaps)"

#: Kind of failure -> what the page says in front of the English line. Those of the source are its conditions.
_SENTENCES: Mapping[str, tuple[str, str]] = {
    "ROCKETMQ_WRONG_OPTION": ("An option is unknown, missing, or not allowed so", "选项未知、缺失或取值不被允许"),
    "ROCKETMQ_UNKNOWN_TOPIC": ("The cluster has no such topic", "集群中没有这个主题"),
    "ROCKETMQ_NAME_SERVER_AWAY": ("No name server answers", "没有 NameServer 应答"),
    "ROCKETMQ_BROKER_AWAY": ("A broker does not answer, or has no master", "Broker 没有应答，或没有主节点"),
    "ROCKETMQ_OFFSETS_GONE": ("Messages that should be read are not there any more", "要读取的消息已不存在"),
    "ROCKETMQ_REFUSED": ("The broker refuses a request", "Broker 拒绝了请求"),
    "ROCKETMQ_BROKEN_MESSAGE": ("A message, or an answer of a node, cannot be decoded", "消息或节点的应答无法解码"),
    "ROCKETMQ_WRONG_ROW": ("A row cannot be a message", "有一行数据无法成为消息"),
    "ROCKETMQ_SEND_FAILED": ("Messages could not be stored", "消息未能存储"),
    _JAVA_DID_NOT_START: ("Spark did not start", "Spark 未能启动"),
    _JAVA_IS_GONE: ("Spark died while it worked", "Spark 在运行中意外终止"),
}
_OF_SPARK = ("Spark could not do its work", "Spark 执行失败")

#: What a line of the source may name as ``topic 'Orders'``, and the Chinese for it.
_NAMED = {"option": "选项", "topic": "主题", "group": "消费组", "broker": "Broker", "queue": "队列", "column": "列"}
_NAMED_IN_LINE = re.compile(rf"\b({'|'.join(_NAMED)}) '([^']{{1,200}})'")
_KIND = re.compile(r"\[([A-Z][A-Z0-9_.]*)\]")


def failed(error: BaseException) -> JobFailed:
    """``error``, that a job ended with, for its user."""
    line = explain(error)
    failure = JobFailed(line)
    if _OWN_ERROR.search(str(error)) is None:
        failure.sentence = sentence(line)
    return failure


def sentence(line: str) -> Mapping[str, str]:
    """The kind of failure that a line of :func:`explain` is about, with what the line names."""
    found = _KIND.match(line)
    kind = found[1] if found is not None else line
    english, chinese = _SENTENCES.get(kind, _OF_SPARK)
    named = dict(_NAMED_IN_LINE.findall(line)) if kind in _SENTENCES else {}
    in_english = ", ".join(f"{what} {name}" for what, name in named.items())
    in_chinese = "，".join(f"{_NAMED[what]} {name}" for what, name in named.items())
    return {
        "en": f"{english}{f' ({in_english})' if named else ''}.",
        "zh": f"{chinese}{f'（{in_chinese}）' if named else ''}。",
    }


def explain(error: BaseException) -> str:
    """``error`` as one line. What a data source or a function on an executor said is dug out of Spark's wrapping."""
    from engine.pipeline.source.cluster.errors import explain as explain_source_error

    if (line := explain_source_error(error)) is not None:
        return _shortened(line)
    text = str(error)
    if "JAVA_GATEWAY_EXITED" in text:
        return _JAVA_DID_NOT_START
    kind = type(error).__name__
    # An error that Java itself tells has its trace; without one there was no answer.
    is_unanswered = kind == "Py4JError" and "Trace:" not in text
    if is_unanswered or kind in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError"):
        return _JAVA_IS_GONE
    if (inner := _innermost(text)) is not None:
        return _shortened(inner)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return _shortened(_SQL_STATE.sub("", first))


def _innermost(text: str) -> str | None:
    """What the last traceback inside ``text`` ends with; None without any."""
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
