"""Codes of Kafka's answers."""

from __future__ import annotations

import pytest

from engine.kafka.client.errors import SendRefused
from engine.kafka.records.error_code import KafkaErrorCode


@pytest.mark.parametrize("code", [29, 44, 119, 32_767, -2])
def test_a_code_that_is_not_known_here_fails_the_request_and_not_the_client(code):
    """29: a real Kafka that lets this client not write to the topic."""
    assert KafkaErrorCode(code) is KafkaErrorCode.UNKNOWN_SERVER_ERROR
    assert not SendRefused(KafkaErrorCode(code), "refused").outcome_known
