"""The OpenAPI document is valid, and the API keeps what it says."""

from __future__ import annotations

import hypothesis
import pytest
from openapi_spec_validator import validate
from schemathesis import openapi

from app.testkit.openapi import DOCUMENT_PATH, ROOT, openapi_document
from app.testkit.operations import OPERATIONS
from engine.testkit import embedded_broker
from tests.support.tiers import examples


def test_the_document_is_valid():
    validate(openapi_document())


def test_the_document_is_served(api):
    assert api("GET", DOCUMENT_PATH) == (200, openapi_document())


def test_every_operation_has_an_id_of_its_own():
    found = [one["operationId"] for path in openapi_document()["paths"].values() for one in path.values()]
    assert len(dict.fromkeys(found)) == len(found) == len(OPERATIONS)


@pytest.fixture
def hasty(monkeypatch):
    """Waits of the test kit end at once: what is waited for comes from no client here."""
    until = embedded_broker.EmbeddedBroker.until
    monkeypatch.setattr(embedded_broker.EmbeddedBroker, "until", lambda self, condition, _: until(self, condition, 0))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")
def test_replies_are_as_described(operation, application, glassmq, hasty):
    """Schemathesis sends requests that the document allows, and such that it does not."""
    schema = openapi.from_wsgi(ROOT + DOCUMENT_PATH, application)
    described = schema[ROOT + operation.path][operation.method]

    @hypothesis.settings(
        max_examples=examples(quick=5, full=40),
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=described.as_strategy())
    def check(case):
        try:
            case.call_and_validate()
        finally:
            glassmq.faults.clear()

    check()
