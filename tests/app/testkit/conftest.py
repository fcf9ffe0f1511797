"""The test kit's HTTP API over a broker in this process, clean in each test."""

import io
import json

import pytest

from app.testkit.api_application import ApiApplication
from app.testkit.openapi import ROOT
from app.testkit.operations import TestSession
from app.testkit.replies import Addresses
from engine.testkit import GlassMQ

ADDRESSES = Addresses(1, "127.0.0.1", "127.0.0.1:1", "127.0.0.1:2", 1, 2, 3, "http://127.0.0.1:3/api/testkit")


@pytest.fixture(scope="module")
def broker_of_module():
    with GlassMQ() as broker:
        yield broker


@pytest.fixture
def glassmq(broker_of_module):
    broker_of_module.reset()
    yield broker_of_module
    broker_of_module.faults.clear()


@pytest.fixture
def application(glassmq):
    return ApiApplication(TestSession(glassmq, ADDRESSES))


@pytest.fixture
def api(application):
    """``api("GET", "/groups")``: the status and the reply of an operation; ``raw`` is a body that is sent as it is."""

    def call(method, path, body=None, *, query="", raw=None, **environ):
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        given = {
            "REQUEST_METHOD": method,
            "PATH_INFO": ROOT + path,
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(len(content)),
            "CONTENT_TYPE": "application/json",
            "wsgi.input": io.BytesIO(content),
            **environ,
        }
        answered = []

        def start(status, headers, error=None):
            answered.append((status, dict(headers)))
            return answered.append

        chunks = application(given, start)
        assert answered[0][1]["Content-Type"] == "application/json"
        return int(answered[0][0].split()[0]), json.loads(b"".join(chunks))

    return call
