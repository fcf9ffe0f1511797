"""The lesson's world, exported and audited: the audit finds what the history of the world knows."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from app.command_line import main
from app.lab.routes.audits import plan_of
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.arguments import read_arguments
from engine.pipeline.jobs.delivery_audit.description import DESCRIPTION
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.source.decoding.schema import arrow_schema
from engine.pipeline.world_export import export_messages
from tests.support.pipeline.memory_report import MemoryReport

LESSON = "15-auditing-with-spark"

#: Nothing goes wrong in it.
PEACEFUL = """
title: {{en: own, zh: 自己的}}
about: {{en: own, zh: 自己的}}
nodes:
  N1: {{role: name_server}}
  B1: {{role: broker}}
  P1:
    role: producer
    group: shop
    traffic: {{topic: Orders, count: 12, every_ms: 100, start_ms: 3000, numbered: true}}
  P2:
    role: producer
    group: post
    traffic: {{topic: Mails, count: 12, every_ms: 100, start_ms: 3000, numbered: true}}
{consumers}
topics: {{Orders: {{queues: 2}}, Mails: {{queues: 2}}}}
"""
CONSUMER = "  {name}: {{role: consumer, group: {group}, topic: {topic}, start_ms: 500{more}}}"
REPORTS = ", settings: {enable_msg_trace: true}"


@pytest.fixture(scope="module")
def world():
    """The lesson's world at its end."""
    with LabRun(load_scenario(LESSON)) as run:
        run.run_to_time(run.scenario.duration_ms * 1_000)
        yield run


@pytest.fixture(scope="module")
def folder(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "new"
    export_messages(world, path)
    return path


def stored_keys(folder):
    rows = pq.read_table(folder / "B1.parquet").to_pylist()
    return [row["keys"][0] for row in rows if row["topic"] == "Orders"]


def test_an_export_has_every_stored_message_once_in_the_columns_of_the_source(world, folder):
    table = pq.read_table(folder / "B1.parquet")
    assert table.schema.equals(arrow_schema())
    store = world.world.nodes["B1"].broker.store
    places = list(zip(*(table.column(name).to_pylist() for name in ("topic", "queue_id", "queue_offset")), strict=True))
    assert places == sorted(set(places))
    assert len(places) == sum(queue.max_offset for _, _, queue in store.consume_queues())
    row = next(row for row in table.to_pylist() if row["keys"] == ["order-13"])
    assert row["body"] == b"order 13"
    assert dict(row["properties"])["SEQUENCE_NUMBER"] == "13"


def audit(spark, arguments):
    """What reads the rows of a table of the result."""
    from engine.pipeline.jobs.delivery_audit.job import JOB

    report = MemoryReport()
    JOB(JobRun(spark, read_arguments(DESCRIPTION, arguments), {}, report, watch=lambda query: None))

    def rows(name):
        columns = next(table.columns for table in DESCRIPTION.tables if table.name == name)
        return [dict(zip((column.name for column in columns), row, strict=True)) for row in report.tables[name]]

    return rows


def test_spark_finds_exactly_the_harm_that_was_done(world, folder, spark):
    history, stored = world.world.history, stored_keys(folder)
    acknowledged = {returned.key for returned in history.sends_returned if returned.status == "ok"}
    consumed = {node: [ended.key for ended in history.consumes_ended if ended.node == node] for node in ("C1", "C2")}
    lost = sorted(int(key.removeprefix("order-")) for key in acknowledged - set(stored))
    assert lost == [6, 7, 8, 9, 10, 11], "the lesson's text says so"

    rows = audit(spark, {"input_folder": str(folder), "topics": "Orders", "groups": "billing,shipping"})
    (producer,) = rows("producers")
    assert (producer["numbered"], producer["stored"], producer["lost"]) == (24, len(stored), len(lost))
    assert (producer["duplicated"], producer["unknown"], producer["has_ended"]) == (0, 1, True)
    groups = {row["group"]: row for row in rows("groups")}
    assert len(consumed["C1"]) - len(set(consumed["C1"])) == 2, "order-19 and order-20"
    assert groups["billing"]["twice"] == 1, "the note of order-20 died with the process, as the lesson's text says"
    assert groups["billing"]["missing"] == 0
    assert groups["shipping"]["missing"] == len(set(stored) - set(consumed["C2"])) == 9
    found = {(row["kind"], row["first"], row["last"]) for row in rows("findings")}
    assert {("lost", 6, 11), ("unknown", 12, 12)} <= found


@pytest.mark.parametrize(
    ("strategy", "twice"), [("state-table", [("consumed twice", "shop", "B1:1", 0)]), ("message-table", [])]
)
def test_work_that_a_forgetful_store_lets_through_is_found_and_a_duplicate_that_was_swallowed_is_none(
    spark, tmp_path, strategy, twice
):
    with LabRun(load_scenario("forgetful-store")) as run:
        run.apply(Command("setting", "C1", {"name": "idempotence_strategy", "value": strategy}))
        run.run_to_time(run.scenario.duration_ms * 1_000)
        export_messages(run, tmp_path / "export")
        (consumer,) = run.world.roles(ConsumerNode)
        counters = consumer.idempotence_counters
    rows = audit(spark, {"input_folder": str(tmp_path / "export"), "topics": "Orders", "groups": "shop"})
    found = [(row["kind"], row["who"], row["queue"], row["first"]) for row in rows("findings")]
    assert [finding for finding in found if finding[0] == "consumed twice"] == twice
    assert sum(kind == "duplicated" for kind, *_ in found) == 2, "order-1 and order-2 are stored twice"
    assert counters.swallowed == 2 - len(twice)


@pytest.mark.parametrize(
    ("consumers", "judged"),
    [
        # Each group has a topic of its own.
        (
            [("billing", "Orders", REPORTS), ("billing", "Orders", REPORTS), ("mailing", "Mails", REPORTS)],
            {("billing", "Orders"): 12, ("mailing", "Mails"): 12},
        ),
        # Nobody reports all that its group should get.
        (
            [
                ("half-silent", "Orders", REPORTS),
                ("half-silent", "Orders", ""),
                ("choosy", "Orders", f", expression: TagA{REPORTS}"),
                ("everyone", "Mails", f", model: broadcasting{REPORTS}"),
                ("everyone", "Mails", f", model: broadcasting{REPORTS}"),
            ],
            {},
        ),
    ],
    ids=["two topics", "nobody to judge"],
)
def test_of_a_run_without_harm_the_plan_of_the_lab_gives_no_finding(spark, tmp_path, consumers, judged):
    lines = [
        CONSUMER.format(name=f"C{number}", group=group, topic=topic, more=more)
        for number, (group, topic, more) in enumerate(consumers, 1)
    ]
    with LabRun(parse_scenario(PEACEFUL.format(consumers="\n".join(lines)), "own")) as run:
        run.run_to_time(15_000_000)
        export_messages(run, tmp_path / "export")
        rows = audit(spark, plan_of(run).arguments(tmp_path / "export"))
    assert [(row["producer"].partition("@")[0], row["stored"]) for row in rows("producers")] == [
        ("post", 12),
        ("shop", 12),
    ]
    assert rows("findings") == []
    assert {(row["group"], row["topic"]): row["consumed"] for row in rows("groups")} == judged


def test_a_broker_that_is_down_cannot_be_exported(tmp_path):
    with LabRun(load_scenario("hello")) as run:
        run.run_to_time(1_000_000)
        run.apply(Command("crash", "B1"))
        with pytest.raises(JobFailed, match="B1 is down"):
            export_messages(run, tmp_path)


# --- command line --------------------------------------------------------------------------------------------------


def test_the_command_line_exports_what_the_lesson_says(tmp_path, folder):
    result = CliRunner().invoke(main, ["lab", "run", LESSON, "--export-messages", str(tmp_path / "export")])
    assert result.exit_code == 0, result.output
    assert f"messages written to {tmp_path / 'export'}" in result.output
    assert pq.read_table(tmp_path / "export").equals(pq.read_table(folder))


@pytest.mark.parametrize("more", [["--seeds", "2"], ["--spark", "local[2]"], ["--results", "x"]])
def test_an_export_is_of_one_world(more, tmp_path):
    result = CliRunner().invoke(main, ["lab", "run", LESSON, "--export-messages", str(tmp_path), *more])
    assert result.exit_code == 2
    assert f"--export-messages excludes {more[0]}: it writes the end of one run" in result.output
