"""What a job failed with: as one line, and as a sentence in both languages."""

from __future__ import annotations

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.failure import explain, failed, sentence
from engine.pipeline.source.cluster.errors import CONDITIONS, RocketMQError, wrong_option
from engine.texts import Text

PYTHON_TRACEBACK = """\
An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "x.py", line 1, in f
    raise ValueError("no: number")
ValueError: no: number

\tat org.apache.spark.Something(File.scala:7)"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            PYTHON_TRACEBACK,
            "no: number",
        ),
        (
            "[STREAM_FAILED] it failed [ROCKETMQ_UNKNOWN_TOPIC] no topic 'x'\n\tat java",
            "[ROCKETMQ_UNKNOWN_TOPIC] no topic 'x'",
        ),
        ("[CANNOT_PARSE] a thing. SQLSTATE: 42000\nmore", "[CANNOT_PARSE] a thing."),
        ("", "Exception"),
        ("[JAVA_GATEWAY_EXITED] gone", "Java ended before Spark had started; the log says why"),
    ],
)
def test_an_error_of_spark_becomes_its_innermost_line(text, line):
    assert explain(Exception(text)) == line


@pytest.mark.parametrize(
    ("text", "is_gone"),
    [
        ("An error occurred while calling o31.count", True),
        (
            "An error occurred while calling o31.cuont. Trace:\npy4j.Py4JException: Method cuont([]) does not exist",
            False,
        ),
    ],
)
def test_only_a_java_that_does_not_answer_is_gone(text, is_gone):
    assert ("Java process" in explain(type("Py4JError", (Exception,), {})(text))) == is_gone


def test_a_long_error_is_cut():
    assert len(explain(Exception("x" * 5_000))) < 700


def test_a_failure_of_the_source_is_reported_in_both_languages_with_what_it_names():
    line = str(RocketMQError("ROCKETMQ_REFUSED", "topic 'Orders': broker 127.0.0.1:1 says: no (code 1)"))
    failure = failed(Exception(f"[STREAM_FAILED] terminated {line}"))
    assert failure.sentence == {
        "en": "The broker rejected a request (topic Orders).",
        "zh": "Broker 拒绝了请求（主题 Orders）。",
    }
    assert (str(failure), failure.detail) == (line, line)
    assert sentence(str(wrong_option("startingOffsets", "'x' is not allowed")))["zh"] == (
        "选项未知、缺失或取值不被允许（选项 startingOffsets）。"
    )
    both = sentence(str(RocketMQError("ROCKETMQ_BROKER_AWAY", "topic 'Orders': broker 'broker-a' is gone")))
    assert both["zh"] == "Broker 没有应答，或没有主节点（主题 Orders，Broker broker-a）。"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_condition_of_the_source_has_a_sentence_of_its_own(language):
    texts = [*(f"[{condition}] why" for condition in CONDITIONS), "[PATH_NOT_FOUND] why", "no room"]
    sentences = [sentence(text)[language] for text in texts]
    assert len(set(sentences)) == len(CONDITIONS) + 1, "one per condition, and one for all else"
    assert all(one.endswith({"en": ".", "zh": "。"}[language]) for one in sentences)


@pytest.mark.parametrize(
    ("text", "chinese"),
    [
        ("[JAVA_GATEWAY_EXITED] gone", "Spark 未能启动。"),
        ("[PATH_NOT_FOUND] option 'x' of Spark's own", "Spark 执行失败。"),
        ("division by zero", "Spark 执行失败。"),
    ],
)
def test_what_spark_fails_with_is_framed_in_both_languages(text, chinese):
    failure = failed(Exception(text))
    assert failure.sentence["zh"] == chinese
    assert failure.detail == str(failure)


def test_what_a_job_raises_in_a_function_that_spark_calls_is_no_failure_of_spark():
    text = f"{PYTHON_TRACEBACK}\nTraceback (most recent call last):\n  x\nengine.pipeline.errors.JobFailed: no room\n"
    failure = failed(Exception(text))
    assert (failure.sentence["zh"], failure.detail) == ("作业无法继续。", "no room")


def test_an_error_that_was_said_in_both_languages_needs_no_detail():
    failure = JobFailed(Text("job.error.broker_down", broker="B1"))
    assert (failure.sentence, failure.detail) == (Text("job.error.broker_down", broker="B1"), None)
    assert (JobFailed("no room").sentence["zh"], JobFailed("no room").detail) == ("作业无法继续。", "no room")
