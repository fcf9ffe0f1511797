"""Which pages may stand in whose frames."""

import pytest

from app.web.access_rules import PageAccessRules
from app.web.embedding_origins import origin_of
from app.web_application import WebSettings, create_app
from tests.support.live.fixture_server import FixtureSource

IN_A_FRAME = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}


def client_for(**rules):
    return create_app(FixtureSource(0), WebSettings(access=PageAccessRules(port=8000, **rules))).app.test_client()


def ancestors(response):
    policy = response.headers["Content-Security-Policy"]
    return next(part for part in policy.split("; ") if part.startswith("frame-ancestors"))


def test_an_embedded_stage_may_stand_in_pages_of_this_machine_and_of_the_sites_that_are_named():
    answer = client_for(embedding_origins=("https://wiki.example.org",)).get("/lab/hello?embed=1", headers=IN_A_FRAME)
    assert answer.status_code == 200
    assert ancestors(answer) == (
        "frame-ancestors 'self' http://localhost:* http://127.0.0.1:* https://wiki.example.org"
    )
    assert "X-Frame-Options" not in answer.headers
    assert 'class="lab-page is-embedded"' in answer.text


def test_a_server_that_others_reach_lets_only_its_own_pages_hold_a_stage():
    answer = client_for(listen_host="0.0.0.0", token="a-token-of-some-length").get(
        "/lab/hello?embed", headers={"Authorization": "Bearer a-token-of-some-length"}
    )
    assert ancestors(answer) == "frame-ancestors 'self'"
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


@pytest.mark.parametrize("address", ["/live", "/lab", "/lab/hello", "/pipeline", "/tutorials", "/live?embed=1"])
def test_no_other_page_may_stand_in_a_frame(address):
    client = client_for(embedding_origins=("https://wiki.example.org",))
    answer = client.get(address)
    assert ancestors(answer) == "frame-ancestors 'none'"
    assert answer.headers["X-Frame-Options"] == "DENY"
    if not address.startswith("/lab/"):
        assert client.get(address, headers=IN_A_FRAME).status_code == 403


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://Wiki.example.org/", "https://wiki.example.org"),
        ("http://localhost:*", "http://localhost:*"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("wiki.example.org", None),
        ("https://*.example.org", None),
        ("https://a.example; script-src *", None),
        ("https://a.example/path", None),
        ("", None),
    ],
)
def test_an_origin_is_a_scheme_and_a_host_and_nothing_that_would_change_the_policy(text, origin):
    assert origin_of(text) == origin
