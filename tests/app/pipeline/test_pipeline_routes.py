"""The pipeline over HTTP: what may be started, what is refused, and that a page can name no folder but its own."""

from __future__ import annotations

import sys

import pytest

from app.picture.refusal import RefusedField
from app.pipeline.folders import confine_folders
from app.pipeline.host import PipelineSettings
from app.web.access_rules import PageAccessRules
from app.web_application import WebSettings, create_app
from engine.pipeline.jobs import registry
from engine.pipeline.jobs.arguments import ArgumentRefused
from tests.support.live.fixture_server import FixtureSource
from tests.support.pipeline import tiny_job
from tests.support.waiting import wait_until

FAKE = (sys.executable, "-m", "tests.support.pipeline.fake_job")


@pytest.fixture(autouse=True)
def with_the_tiny_job(monkeypatch):
    monkeypatch.setattr(registry, "JOB_NAMES", registry.JOB_NAMES)  # restored in the end
    tiny_job.register()


@pytest.fixture
def server(tmp_path):
    settings = PipelineSettings(tmp_path / "pipeline", "127.0.0.1:1", command=FAKE, niceness=0)
    made = create_app(FixtureSource(0), WebSettings(lab_has_thread=False, pipeline=settings))
    yield made
    made.pipeline.close()


@pytest.fixture
def client(server):
    return server.app.test_client()


def begin(client, job="tiny", arguments=None, **more):
    return client.post("/api/pipeline/runs", json={"job": job, "arguments": arguments or {}, **more})


def until_over(client, run_id):
    address = f"/api/pipeline/runs/{run_id}"
    return wait_until(
        lambda: run if (run := client.get(address).json)["ended_us"] is not None else None,
        f"the end of run {run_id}",
        seen=lambda: client.get(address).json,
    )


def test_the_jobs_tell_what_a_form_needs(client):
    answer = client.get("/api/pipeline/jobs").json
    assert [job["name"] for job in answer["jobs"]] == list(registry.JOB_NAMES)
    tiny = answer["jobs"][-1]
    assert tiny["parameters"][2] == {
        "name": "numbers",
        "kind": "integer",
        "help": {"en": "How many.", "zh": "中文How many."},
        "default": 1000,
        "required": False,
        "unless": None,
        "minimum": 1,
        "maximum": 10**12,
        "choices": [],
    }
    assert tiny["tables"][0]["bad_column"] == "lost"
    assert (answer["problem"], answer["master"], answer["asks_for_keys"]) == (None, "local[2]", False)


def test_a_run_is_started_read_and_stopped(client):
    answer = begin(client, arguments={"follow": True, "numbers": "7"})
    assert answer.status_code == 201
    run_id = answer.json["id"]
    answer = client.post(f"/api/pipeline/runs/{run_id}/stop", json={})
    assert answer.status_code == 202
    assert answer.json["phase"] in {"stopping", "stopped"}  # its process may be gone before the answer is written
    run = until_over(client, run_id)
    assert (run["phase"], run["arguments"]["numbers"]) == ("stopped", 7)
    assert [one["id"] for one in client.get("/api/pipeline/runs").json["runs"]] == [run_id]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"job": "tiny", "arguments": {"numbers": "x"}}, 400, "numbers: 'x' is not allowed; allowed: an integer from"),
        ({"job": "tiny", "arguments": {"nonsense": 1}}, 400, "nonsense"),
        ({"job": "tiny", "arguments": []}, 400, "arguments"),
        ({"job": "tinny"}, 404, "there is no job 'tinny'"),
        ({"job": 7}, 400, "job"),
        ({"jobs": "tiny"}, 400, "jobs"),
        ({"job": "tiny", "keys": {"access_key": "a"}}, 400, "keys"),
        ({"job": "tiny", "keys": {"access_key": "a", "secret_key": "a\nsecret"}}, 400, "secret_key"),
        (["tiny"], 400, "allowed: an object with job, arguments, keys"),
        ({"job": "tiny", "arguments": {"topic": "x" * 40_000}}, 400, "is too large; allowed: at most 32000 bytes"),
    ],
)
def test_a_wrong_request_is_refused_with_what_is_allowed(client, body, status, said):
    answer = client.post("/api/pipeline/runs", json=body)
    assert (answer.status_code, said in answer.json["error"]) == (status, True), answer.json
    assert "a\nsecret" not in answer.text
    assert client.get("/api/pipeline/runs").json == {"runs": []}


def test_a_refused_argument_is_named_in_both_languages(client):
    answer = begin(client, arguments={"pause_ms": "1ms"}).json
    assert answer["parameter"] == "pause_ms"
    assert answer["text"]["zh"].startswith("不能是 1；允许：10 到 ")


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        ({"pause_ms": "1ms"}, "ms"),
        ({"output": "/etc"}, "a folder below data/pipeline, such as orders"),
        ({"nonsense": 1}, "pause_ms"),
        ({"pause-ms": 10, "pause_ms": 10}, "once"),
    ],
)
def test_a_refused_argument_has_the_shape_of_every_refused_field_and_says_what_is_allowed(client, arguments, allowed):
    refused = begin(client, arguments=arguments).json
    assert set(refused) == set(RefusedField.__annotations__)
    assert allowed in refused["allowed"]


def test_what_is_no_json_is_refused(client):
    assert client.post("/api/pipeline/runs", data="{", content_type="application/json").status_code == 400
    assert client.post("/api/pipeline/runs", data="job=tiny").status_code == 400


def test_runs_that_are_not_there_are_not_found(client):
    assert client.get("/api/pipeline/runs/nothing").status_code == 404
    assert client.post("/api/pipeline/runs/nothing/stop", json={}).status_code == 404


def test_other_web_sites_start_nothing(server):
    answer = server.app.test_client().post(
        "/api/pipeline/runs", json={"job": "tiny"}, headers={"Origin": "http://evil.example"}
    )
    assert answer.status_code == 403


def test_without_the_token_nothing_is_started(tmp_path):
    settings = WebSettings(
        access=PageAccessRules(token="a-long-token"),
        lab_has_thread=False,
        pipeline=PipelineSettings(tmp_path, "127.0.0.1:1", command=FAKE),
    )
    client = create_app(FixtureSource(0), settings).app.test_client()
    assert begin(client).status_code == 401
    assert client.get("/api/pipeline/runs").status_code == 401


def test_a_server_without_pipeline_says_so_and_starts_nothing():
    client = create_app(FixtureSource(0), WebSettings(lab_has_thread=False)).app.test_client()
    assert "--no-pipeline" in client.get("/api/pipeline/jobs").json["problem"]["zh"]
    assert begin(client).status_code == 503
    assert client.get("/pipeline").status_code == 200
    assert client.get("/api/pipeline/runs").json == {"runs": []}


def test_a_folder_lies_below_the_pipelines_own_whatever_a_page_writes(tmp_path):
    def confined(value):
        return confine_folders(tiny_job.DESCRIPTION, {"output": value}, tmp_path)["output"]

    assert confined("archive/orders 2026") == str(tmp_path / "archive" / "orders 2026")
    assert confine_folders(tiny_job.DESCRIPTION, {"output": ""}, tmp_path) == {"output": ""}
    (tmp_path / "out").symlink_to("/etc")
    for value in (
        *("/etc", "..", "a/../../b", "../b", "a//b", "./a", "~root", "file:/etc", "s3a://b", "a\0b", "a\\b", ".ssh"),
        *("out/cron.d", "work/x", "logs", "lab", "lab/orders", "a/" * 20 + "b", 7, ["a"]),
    ):
        with pytest.raises(ArgumentRefused, match="data/pipeline"):
            confined(value)


def test_the_labs_exports_may_be_read_and_not_written_to(tmp_path):
    """The host deletes the old ones."""
    audit = registry.describe("delivery-audit")
    assert confine_folders(audit, {"input-folder": "lab/a"}, tmp_path)["input_folder"] == str(tmp_path / "lab" / "a")
    for name in ("logs", "work/x"):
        with pytest.raises(ArgumentRefused, match="not logs or work"):
            confine_folders(audit, {"input_folder": name}, tmp_path)
    with pytest.raises(ArgumentRefused, match="not logs or work or lab"):
        confine_folders(audit, {"checkpoint_folder": "lab/books"}, tmp_path)


def test_a_folder_named_with_dashes_is_confined_too_and_none_is_named_twice(client, tmp_path):
    audit = registry.describe("delivery-audit")
    assert confine_folders(audit, {"checkpoint-folder": "books"}, tmp_path)["checkpoint_folder"] == str(
        tmp_path / "books"
    )
    for arguments in ({"checkpoint-folder": "/etc"}, {"checkpoint_folder": "books", "checkpoint-folder": "/etc"}):
        answer = begin(client, "delivery-audit", {"topics": "orders", **arguments})
        assert (answer.status_code, answer.json["parameter"]) == (400, "checkpoint_folder")


def test_a_page_names_scenarios_and_no_files(client, tmp_path):
    for scenario in ("/etc/hosts.yaml", "no-such-scenario", ["general"]):
        answer = begin(client, "simulation-fleet", {"scenario": scenario})
        assert (answer.status_code, answer.json["parameter"]) == (400, "scenario")
    fleet = registry.describe("simulation-fleet")
    assert confine_folders(fleet, {"scenario": " general "}, tmp_path)["scenario"] == " general "
    offered = next(job for job in client.get("/api/pipeline/jobs").json["jobs"] if job["name"] == fleet.name)
    assert "general" in offered["parameters"][0]["choices"]


def test_folders_of_a_page_reach_the_job_as_paths_below_the_pipelines_own(client, tmp_path):
    run = until_over(client, begin(client, arguments={"output": "orders"}).json["id"])
    assert run["arguments"]["output"] == str(tmp_path / "pipeline" / "orders")
    assert begin(client, arguments={"output": "/etc"}).status_code == 400


def test_the_live_state_carries_sparks_offsets_on_the_queues_of_this_broker(server):
    from app.pipeline.views import RunsSource, WithSparkOffsets

    def reached():
        return [("r1", "traffic", {"GT": {"broker-a": {"0": 5}, "broker-b": {"0": 9}}}), ("r2", "archive", {})]

    source = FixtureSource(0)
    source.tree["cluster"]["broker_name"] = "broker-a"
    state = WithSparkOffsets(source, reached).state()
    assert state["spark"] == {"jobs": {"r1": "traffic", "r2": "archive"}, "offsets": {"GT": {"0": {"r1": 5}}}}
    assert state["topics"].keys() == source.state()["topics"].keys()
    assert RunsSource(server.pipeline).state() == {"runs": {}, "order": []}
