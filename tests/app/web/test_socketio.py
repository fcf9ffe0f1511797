"""Flask-SocketIO as the server imports it."""

from __future__ import annotations

import subprocess
import sys

LOADED = "[name for name in ('kafka', 'redis', 'requests') if name in sys.modules]"


def output_of(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_the_pages_load_no_client_of_kafka_or_redis():
    assert output_of(f"import sys, app.web_application; print(*{LOADED})") == []


def test_whoever_needs_one_of_them_later_gets_it():
    code = f"import sys, app.web.socketio, requests, kafka; print(*{LOADED})"
    assert {"kafka", "requests"} <= set(output_of(code))


def test_one_that_is_loaded_already_stays():
    code = "import kafka, sys, app.web.socketio; print(sys.modules['kafka'] is kafka)"
    assert output_of(code) == ["True"]
