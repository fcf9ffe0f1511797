"""Spark reads and writes topics of GlassMQ and of a real RocketMQ by the same program, with the same figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.wire import UPDATE_AND_CREATE_TOPIC, request, signed, write_queues
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

MESSAGES, QUEUES, KEYS = 3_000, 4, 10
STARTS: dict[str, Callable[..., Cluster]] = {"glassmq": start_glassmq, "real": start_real_rocketmq}
ADMIN, SHOP = ("admin-key", "admin-secret"), ("shop-key", "shop-secret")
RULES = """\
accounts:
  - {accessKey: admin-key, secretKey: admin-secret, admin: true}
  - accessKey: shop-key
    secretKey: shop-secret
    defaultTopicPerm: DENY
    defaultGroupPerm: SUB
    topicPerms: [orders=PUB|SUB]
"""


@pytest.fixture(scope="module", params=["glassmq", "real"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """GlassMQ, then a real RocketMQ."""
    start = STARTS[request.param]
    cluster = start(tmp_path_factory.mktemp(request.param))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module", params=["glassmq", "real"])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The same two with ``RULES``."""
    folder = tmp_path_factory.mktemp(f"guarded-{request.param}")
    rules = folder / {"glassmq": "data/config", "real": "home/conf"}[request.param] / "plain_acl.yml"
    rules.parent.mkdir(parents=True)
    rules.write_text(RULES, "ascii")
    start = STARTS[request.param]
    cluster = start(folder, settings={"aclEnable": "true"})
    yield cluster
    cluster.stop()


def has_route(name_server: str, topic: str) -> bool:
    return write_queues(name_server, topic) == 2


def source(cluster: Cluster, topic: str, **options: object) -> dict[str, str]:
    return {"nameServer": cluster.name_server, "topic": topic} | {name: str(value) for name, value in options.items()}


def numbered(spark: Any, first: int, count: int) -> Any:
    """Rows whose body is their number, of ten keys in two partitions; a key's rows are in one of them."""
    return spark.range(first, first + count, 1, 1).selectExpr(
        "CAST(id AS STRING) AS body",
        f"CONCAT('key-', id % {KEYS}) AS sharding_key",
        "ARRAY(CONCAT('k', id)) AS keys",
        "IF(id % 3 = 0, 'fizz', 'other') AS tags",
        "MAP('number', CAST(id AS STRING)) AS properties",
    )


def test_what_was_written_is_read_with_the_same_figures(spark: Any, either: Cluster) -> None:
    topic = either.create_topic("SparkBatch", QUEUES)
    numbered(spark, 0, MESSAGES).write.format("rocketmq").mode("append").options(
        **source(either, topic, batchBytes=20_000)
    ).save()
    frame = spark.read.format("rocketmq").options(**source(either, topic)).load()
    rows = frame.select("queue_id", "queue_offset", "body", "keys", "tags", "properties", "unique_id").collect()
    assert sorted(int(row.body) for row in rows) == list(range(MESSAGES))
    assert all(row["keys"] == [f"k{int(row.body)}"] for row in rows)
    assert all(row.properties["number"] == row.body.decode() for row in rows)
    assert Counter(row.tags for row in rows) == {"fizz": MESSAGES // 3, "other": MESSAGES - MESSAGES // 3}
    assert len({row.unique_id for row in rows}) == MESSAGES
    of_key: dict[int, list[int]] = {}
    for row in sorted(rows, key=lambda row: (row.queue_id, row.queue_offset)):
        of_key.setdefault(int(row.body) % KEYS, []).append(int(row.body))
    assert all(numbers == sorted(numbers) for numbers in of_key.values())
    # Which queue a key is in does not depend on the broker: Java's hash of "key-0" to "key-9" says it.
    assert {int(row.body) % KEYS: row.queue_id for row in rows} == dict(enumerate((2, 3, 0, 1, 2, 3, 0, 1, 2, 3)))
    fizz = spark.read.format("rocketmq").options(**source(either, topic, tags="fizz")).load()
    assert fizz.count() == fizz.filter("tags = 'fizz'").count() == MESSAGES // 3
    assert frame.filter("queue_id = 0 AND queue_offset >= 10 AND queue_offset < 30").count() == 20


def test_a_stream_from_topic_to_topic_loses_and_repeats_nothing(spark: Any, either: Cluster, tmp_path: Path) -> None:
    left, right = either.create_topic("SparkLeft", QUEUES), either.create_topic("SparkRight", QUEUES)

    def copy() -> None:
        frame = spark.readStream.format("rocketmq").options(
            **source(either, left, startingOffsets="earliest", maxOffsetsPerTrigger=400)
        )
        query = (
            frame.load()
            .selectExpr("body", "keys", "tags", "properties")
            .writeStream.format("rocketmq")
            .options(**source(either, right, copiesMessages="true"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(180)

    for first in (0, 1_000):
        numbered(spark, first, 1_000).write.format("rocketmq").mode("append").options(**source(either, left)).save()
        copy()
    # As if Spark had been killed between sending the last micro-batch and noting that it was sent.
    commits = sorted((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    assert len(commits) >= 4
    commits[-1].unlink()
    copy()
    rows = spark.read.format("rocketmq").options(**source(either, right)).load().select("body", "properties").collect()
    assert sorted(int(row.body) for row in rows) == list(range(2_000))
    assert all(row.properties["number"] == row.body.decode() for row in rows)


def test_accounts_are_held_to_what_they_may(spark: Any, guarded: Cluster) -> None:
    for topic in ("orders", "secrets"):
        fields = {"topic": topic, "defaultTopic": "TBW102", "readQueueNums": "2", "writeQueueNums": "2", "perm": "6"}
        fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
        request(guarded.broker, UPDATE_AND_CREATE_TOPIC, signed(fields, b"", *ADMIN))
        wait_until(partial(has_route, guarded.name_server, topic), f"the route of {topic}")
    keys = {"accessKey": SHOP[0], "secretKey": SHOP[1]}

    def write(topic: str, **options: object) -> None:
        rows = numbered(spark, 0, 10)
        # Delayed messages travel alone: the real broker does not look at what a batch is for.
        if topic == "secrets":
            rows = rows.selectExpr("*", "1 AS delay_level")
        rows.write.format("rocketmq").mode("append").options(**source(guarded, topic, **options)).save()

    write("orders", **keys)
    assert spark.read.format("rocketmq").options(**source(guarded, "orders", **keys)).load().count() == 10
    # A name for the write makes it search first: that takes a note and pulls.
    for _ in range(2):
        write("orders", **keys, transactionId="once")
    assert spark.read.format("rocketmq").options(**source(guarded, "orders", **keys)).load().count() == 20
    with pytest.raises(Exception, match=r"No default permission for topic:? ?secrets"):
        write("secrets", **keys)
    with pytest.raises(Exception, match=r"ROCKETMQ_REFUSED|ROCKETMQ_SEND_FAILED"):
        write("orders")
    with pytest.raises(Exception, match=r"ROCKETMQ_REFUSED|ROCKETMQ_SEND_FAILED"):
        write("orders", accessKey=SHOP[0], secretKey="wrong-secret")
