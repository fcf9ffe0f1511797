"""Engine and lab without any compiled package, as in a browser: they start, and refuse by name what needs one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
HIDE = """
from tests.support.pythons.without_compiled_packages import hide_compiled_packages
hide_compiled_packages()
"""
#: Spark's part of the engine, and the databases that only its own stores need.
IMPORT_ALL = """
import importlib, pkgutil
import engine, app.lab
for package in (engine, app.lab):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(("engine.pipeline", "engine.idempotence.stores")):
            importlib.import_module(module.name)
"""
REFUSE = """
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.records.compression import Codec, compress, decompress
from engine.protocol.message.compression import decompress_body
from engine.protocol.system_flags import COMPRESSION_LZ4, COMPRESSION_ZSTD, MESSAGE_COMPRESSED
from engine.runtime.live.live_network import LiveNetwork
LiveNetwork()
for action in (
    lambda: KafkaProducerConfig("127.0.0.1:1", codec=Codec.LZ4),
    lambda: compress(Codec.LZ4, b"x"),
    lambda: decompress(Codec.LZ4, b"x", 10),
    lambda: decompress_body(b"x", MESSAGE_COMPRESSED | COMPRESSION_LZ4),
):
    try:
        print(action())
    except Exception as error:
        print(type(error).__name__, error)
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", HIDE + program], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_engine_and_lab_are_imported_without_compiled_packages():
    run(IMPORT_ALL)


def test_codecs_without_their_library_are_refused_by_name():
    allowed = "none, gzip, zstd" if sys.version_info >= (3, 14) else "none, gzip"
    lines = run(REFUSE).splitlines()
    assert lines[0] == f"ValueError codec lz4 is not supported here; allowed: {allowed}"
    assert lines[1] == lines[2]
    assert lines[2].startswith("KafkaRefusal") and lines[2].endswith(f"lz4 is not supported here; allowed: {allowed}")
    expected = "the body is compressed with type 1 (1: LZ4, 2: Zstandard), whose library is not installed here"
    assert lines[3] == f"MalformedMessage {expected}"
