"""The version, found without the library that would find it."""

import sys
from importlib import metadata

from app.foundation.version import version


def test_the_version_is_that_of_the_installed_package():
    assert version() == metadata.version("glassmq")


def test_without_an_installation_it_is_unknown(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "gone.zip")])
    monkeypatch.chdir(tmp_path)
    assert version.__wrapped__() == "unknown"
