"""What installs GlassMQ: its licence, the pinned versions, and a wheel that runs far from the source tree."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from engine.compiled.form import BuildUnusable, usable_modules
from tests.support.live.glass_process import GlassProcess

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONSTRAINTS = ROOT / "constraints.txt"
SCRIPT = re.compile(r'<script type="module" src="([^"]+)">')


def lines_of_constraints():
    return [line for line in CONSTRAINTS.read_text().splitlines() if line and not line.startswith("#")]


def test_every_dependency_is_pinned_to_a_version_that_it_allows():
    pinned = {}
    for requirement in map(Requirement, lines_of_constraints()):
        assert [part.operator for part in requirement.specifier] == ["=="], requirement
        pinned.setdefault(requirement.name.lower(), []).append(next(iter(requirement.specifier)).version)
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]
    for requirement in map(Requirement, wanted):
        versions = pinned.get(requirement.name.lower())
        assert versions, f"{requirement.name} is not in constraints.txt: run make lock"
        assert all(map(requirement.specifier.contains, versions)), f"{requirement} {versions}: run make lock"


def test_the_pins_are_of_no_place_and_no_single_platform():
    assert [line for line in CONSTRAINTS.read_text().splitlines() if "://" in line or "--" in line] == []


def test_the_licence_is_named_and_there():
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text()


@pytest.fixture
def wheel(form, tmp_path, monkeypatch):
    """As `make wheel` builds both."""
    if form == "compiled":
        try:
            usable_modules()
        except BuildUnusable as reason:
            pytest.skip(f"the compiled wheel: {reason}")
        monkeypatch.setenv("GLASSMQ_COMPILED_WHEEL", "1")
    call(sys.executable, "-m", "scripts.start_page_film", cwd=ROOT)
    call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    return next(tmp_path.glob("glassmq-*.whl"))


@pytest.mark.parametrize("form", ["interpreted", "compiled"])
def test_a_wheel_runs_in_a_fresh_environment_without_the_source_tree(form, wheel, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert wheel.name.endswith("-none-any.whl") is (form == "interpreted")
    fresh = tmp_path / "fresh"
    call(sys.executable, "-m", "venv", fresh)
    install = (fresh / "bin" / "python", "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS)
    call(*install, wheel)
    installed = call(fresh / "bin" / "python", "-c", "import app; print(app.__path__[0])", cwd=tmp_path).strip()
    assert Path(installed).is_relative_to(fresh)
    assert (Path(installed) / "py.typed").exists()
    assert (Path(installed).parent / "engine" / "py.typed").exists()
    film = "from app.lab.routes.film_file import built_film; print(built_film() is not None)"
    assert call(fresh / "bin" / "python", "-c", film, cwd=tmp_path) == "True\n"

    glassmq = str(fresh / "bin" / "glassmq")
    assert "0 runs with violations" in call(glassmq, "lab", "run", "two-consumers", cwd=tmp_path)
    refused = subprocess.run([glassmq, "serve"], cwd=tmp_path, capture_output=True, text=True)
    assert "the page needs the Python package flask: pip install 'glassmq[page]'" in refused.stderr
    (tmp_path / "test_kit.py").write_text("def test_it(glassmq): assert glassmq.messages('orders') == []")
    call(*install, "pytest")
    assert "1 passed" in call(fresh / "bin" / "python", "-m", "pytest", "-q", "test_kit.py", cwd=tmp_path)
    call(*install, f"{wheel}[page]")
    server = GlassProcess(tmp_path / "data", page=True)
    server.command[:3] = [glassmq]
    with server:
        assert server.addresses["form"] == form
        name_server = ("--name-server", server.name_server)
        call(glassmq, "send", "orders", "hello", *name_server, cwd=tmp_path)
        group = ("--group", "readers", "--from", "first", "--count", "1")
        assert "hello" in call(glassmq, "consume", "orders", *group, *name_server, cwd=tmp_path)
        page = get(server.addresses["page"] + "/live?lang=zh")
        assert "实时" in page
        assert "import" in get(server.addresses["page"] + SCRIPT.search(page)[1])
        assert get(server.addresses["page"] + "/static/vendor/import-map.json").startswith("{")


def call(*command, cwd=None):
    result = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def get(address):
    with urllib.request.urlopen(address, timeout=30) as response:
        return response.read().decode()
