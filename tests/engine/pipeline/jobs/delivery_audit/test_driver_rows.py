"""What the audit's tasks send to the driver, however many messages there are."""

from __future__ import annotations

from pyspark.sql.classic.dataframe import DataFrame

from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import Stored, message_table
from tests.engine.pipeline.jobs.delivery_audit.test_delivery_audit import audit, consumed, rows, trace_message, write


def test_of_a_number_that_stands_everywhere_only_some_places_are_reported(spark, tmp_path):
    folder = write(tmp_path / "copies", message_table([Stored("p", 0, 0)] * 1_000))
    report = audit(spark, input_folder=folder)
    assert report.tables["findings"][0][-1]["zh"].endswith("；另有 992 处")
    (finding,) = rows(report, "findings")
    assert finding["where"].startswith("broker-a:0 offset 0; broker-a:0 offset 1; ")
    assert finding["where"].endswith("; 992 more") and len(finding["where"]) < 250


def test_the_driver_never_has_rows_of_all_messages_together(spark, tmp_path, monkeypatch):
    messages = [Stored("p", number, 0, unique_id=f"id{number}") for number in range(5_000)]
    messages += [Stored("p", 5_000, 0)] * 1_000
    messages.append(trace_message(*(consumed(f"id{number}") for number in range(5_000))))
    folder = write(tmp_path / "all", message_table(messages))
    collected: list[int] = []
    collect = DataFrame.collect

    def spied(frame):
        found = collect(frame)
        collected.append(len(found))
        return found

    monkeypatch.setattr(DataFrame, "collect", spied)
    report = audit(spark, input_folder=folder, groups="G", topics="T")
    (group,) = rows(report, "groups")
    (finding,) = rows(report, "findings")
    assert (group["consumed"], group["missing"], finding["kind"]) == (5_000, 0, "duplicated")
    assert finding["where"].endswith("offset 5007; 992 more")
    # 5,000 offsets are 79 words.
    assert len(collected) > 0 and max(collected) < 60
