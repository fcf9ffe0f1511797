"""A broker of the test kit, clean in each test."""

import pytest

from engine.testkit import GlassMQ


@pytest.fixture(scope="module")
def broker_of_module():
    with GlassMQ() as broker:
        yield broker


@pytest.fixture
def glassmq(broker_of_module):
    broker_of_module.reset()
    yield broker_of_module
    broker_of_module.faults.end()  # as the plugin does, which is not loaded in each environment
