"""The test kit: a broker for the tests of services that use RocketMQ, in their process or in one of its own."""

from engine.testkit.errors import TestKitError
from engine.testkit.glassmq import GlassMQ
from engine.testkit.glassmq_process import GlassMQProcess

__all__ = ["GlassMQ", "GlassMQProcess", "TestKitError"]
