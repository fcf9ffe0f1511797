"""The storage laboratory over HTTP, and its page."""

from __future__ import annotations

import pytest

from app.foundation.translator import texts
from app.web_application import create_app
from tests.support.live.fixture_server import FixtureSource

SMALL = "topics=1&queues=2&messages=40&body_bytes=20&distinct_keys=7"


@pytest.fixture(scope="module")
def client():
    made = create_app(FixtureSource(0, clock=lambda: 1_800_000_000.0))
    yield made.app.test_client()
    made.parts.storage.close()


def get(client, address, status=200):
    response = client.get(f"/api/storage/{address}")
    assert response.status_code == status, response.text
    return response.get_json()


def test_the_stores_tell_traffic_bounds_and_files(client):
    reported = get(client, f"stores?{SMALL}")
    assert reported["traffic"]["messages"] == 40
    assert reported["bounds"]["topics"][0] == 1
    assert reported["topics"] == ["orders-0"]
    assert {file["format"] for file in reported["stores"]["kafka"]} >= {"log", "offset_index", "time_index"}
    assert all(file["used_bytes"] <= file["size_bytes"] for files in reported["stores"].values() for file in files)


def test_a_file_and_a_unit_are_reported(client):
    place = f"{SMALL}&store=rocketmq&path=consumequeue/orders-0/1/00000000000000000000"
    page = get(client, f"file?{place}")
    assert page["units"][5]["values"]["number"] == 5
    unit = get(client, f"unit?{place}&at=105")
    assert (unit["start"], [field["name"] for field in unit["fields"]]) == (
        100,
        ["COMMITLOGOFFSET", "SIZE", "TAGSCODE"],
    )


def test_a_message_is_found_in_both(client):
    found = get(client, f"find?{SMALL}&by=key&topic=orders-0&value=K00003")
    assert found["rocketmq"]["found_count"] == found["kafka"]["found_count"] == 6


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("stores?topics=0", "topics"),
        ("stores?colour=red", "colour"),
        ("stores?messages=10000&body_bytes=4096", "messages"),
        (f"file?{SMALL}&store=pulsar&path=x", "store"),
        (f"file?{SMALL}&store=kafka&path=orders-0-0/00000000000000000000.log&at=-1", "at"),
        (f"find?{SMALL}&by=luck&topic=orders-0&value=1", "by"),
        (f"find?{SMALL}&by=offset&topic=orders-9&value=1", "topic"),
        (f"find?{SMALL}&by=offset&topic=orders-0&queue=2&value=1", "queue"),
        (f"find?{SMALL}&by=offset&topic=orders-0&value=x", "value"),
        (f"find?{SMALL}&by=time&topic=orders-0&value=99999999", "value"),
        (f"find?{SMALL}&by=key&topic=orders-0&value=", "value"),
    ],
)
def test_a_bad_parameter_is_named_with_what_is_allowed(client, address, named):
    refusal = get(client, address, 400)
    assert refusal["parameter"] == named
    assert refusal["allowed"]


@pytest.mark.parametrize(
    "path", ["nothing", "..%2Fkafka%2Forders-0-0%2F00000000000000000000.log", "%2Fetc%2Fpasswd", ""]
)
def test_a_file_that_is_not_of_the_store_is_not_there(client, path):
    refusal = get(client, f"unit?{SMALL}&store=rocketmq&path={path}", 404)
    assert set(refusal["text"]) == {"en", "zh"}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_is_there_in_both_languages_and_in_the_head_of_others(client, language):
    page = client.get(f"/storage?lang={language}")
    assert page.status_code == 200
    assert texts(language)["storage.title"] in page.text
    assert "/storage" in client.get(f"/lab?lang={language}").text
