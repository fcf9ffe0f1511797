"""What a job tells in words is there in both languages, on the page and on the terminal."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest

from app.foundation.translator import texts, translate
from app.pipeline import child_process, host
from app.pipeline.run_record import TEXT_MAX, RunRecord
from app.pipeline.terminal_report import TerminalReport
from app.pipeline.views import description_json
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.scenario.scenario import FaultKind
from engine.pipeline.jobs.description import ColumnKind, JobTable, TableColumn
from engine.pipeline.jobs.registry import JOB_NAMES, describe
from engine.pipeline.jobs.simulation_fleet.description import ANOMALIES, FAULTS
from engine.texts import LANGUAGES
from tests.support.pipeline.tiny_job import DESCRIPTION, both


def all_texts(name):
    """(where, text) of everything that the job's description says."""
    description = describe(name)
    yield "title", description.title
    yield "about", description.about
    for parameter in description.parameters:
        yield parameter.name, parameter.help
    for table in description.tables:
        yield table.name, table.title
        for column in table.columns:
            yield f"{table.name}.{column.name}", column.title
            yield from ((f"{table.name}.{column.name}={cell}", text) for cell, text in column.cell_texts.items())
    for plot in description.plots:
        yield plot.name, plot.title
        yield from ((f"{plot.name}={series}", text) for series, text in plot.series_texts.items())


@pytest.mark.parametrize("name", JOB_NAMES)
def test_a_job_says_everything_in_both_languages(name):
    for where, text in all_texts(name):
        assert text.keys() == {"en", "zh"}, where
        assert all(text.values()), where


@pytest.mark.parametrize("name", JOB_NAMES)
def test_the_help_of_a_parameter_is_a_sentence(name):
    for parameter in describe(name).parameters:
        english, chinese = parameter.help["en"], parameter.help["zh"]
        assert english[0].isupper(), parameter.name
        assert english.endswith("."), parameter.name
        assert chinese.endswith("。"), parameter.name


def test_what_the_lab_calls_faults_and_anomalies_has_words_in_both_languages():
    assert list(FAULTS) == [kind.value for kind in FaultKind]
    assert list(ANOMALIES) == [anomaly.value for anomaly in Anomaly]
    for anomaly in Anomaly:
        on_the_stage = translate("zh", f"lab.anomaly.{anomaly.name.lower()}")
        assert ANOMALIES[anomaly.value]["zh"] == on_the_stage


def test_a_page_gets_the_words_and_the_cells_stay_the_same_in_all_languages():
    shown = description_json(DESCRIPTION)
    assert shown["tables"][0]["columns"][0]["cell_texts"] == {
        "lost in transit": {"en": "lost in transit", "zh": "途中丢失"}
    }
    assert shown["plots"][0]["series_texts"]["all"] == {"en": "all", "zh": "全部"}
    record = RunRecord("1", DESCRIPTION, {}, "local[1]", 0)
    rows = [["lost in transit", 3, 0.1, 3], [both("Twice."), 1, 0.1, 1]]
    record.apply({"event": "table", "name": "counts", "rows": rows, "left_out": 0})
    assert record.whole()["tables"]["counts"]["rows"] == rows


LINKS = dataclasses.replace(
    DESCRIPTION,
    tables=(JobTable("links", (TableColumn("link", ColumnKind.LINK, text=both("Link")),), text=both("Links")),),
)


def test_a_page_gets_a_link_whole_or_not_at_all():
    record = RunRecord("1", LINKS, {}, "local[1]", 0)
    link, too_long = "/lab/hello#" + "a" * 500, "/lab/hello#" + "a" * TEXT_MAX
    record.apply({"event": "table", "name": "links", "rows": [[link], [too_long]]})
    assert record.whole()["tables"]["links"]["rows"] == [[link], [None]]


def test_a_terminal_shows_a_link_whole():
    output = io.StringIO()
    report = TerminalReport(LINKS, output, io.StringIO())
    link = "http://localhost:8080/lab/hello#" + "a" * 500
    report.table("links", [[link], ["\x1b[2J"]])
    report.print_tables()
    assert output.getvalue().splitlines()[-2:] == [link, "·[2J"]


@pytest.mark.parametrize("cell", [{"en": "one language"}, {"en": "x", "zh": 1}, {"en": "x", "zh": "x", "fr": "x"}])
def test_a_cell_that_is_no_sentence_in_both_languages_is_left_out_and_counted(cell):
    record = RunRecord("1", DESCRIPTION, {}, "local[1]", 0)
    record.apply({"event": "table", "name": "counts", "rows": [[cell, 1, 1, 1]], "left_out": 0})
    assert (record.whole()["tables"], record.dropped) == ({}, 1)


def test_a_terminal_shows_english_words():
    output = io.StringIO()
    report = TerminalReport(DESCRIPTION, output, io.StringIO())
    report.table("counts", [["lost in transit", 3, 0.1, 3], [both("Twice.\x1b[2J"), 1, 0.1, 0]])
    report.print_tables()
    assert "lost in transit" in output.getvalue()
    assert "Twice.·[2J" in output.getvalue()
    assert "途中丢失" not in output.getvalue()


@pytest.mark.parametrize("name", JOB_NAMES)
def test_every_field_of_a_job_has_a_name_in_words_on_the_page(name):
    for parameter in describe(name).parameters:
        key = f"pipeline.parameter.{parameter.name}"
        assert all(key in texts(language) for language in LANGUAGES), key


def test_the_document_has_the_numbers_of_the_code():
    document = (Path(__file__).parents[3] / "docs/pipeline.md").read_text(encoding="utf-8")
    assert f"The processes are nice ({host.NICENESS})" in document
    assert f"After {child_process.STOP_PATIENCE_S} s everything left in its session is killed" in document
