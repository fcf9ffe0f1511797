"""The harness itself: what is not to be had is skipped by name, in bounded time, and never breaks the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop.harness import installs
from tests.interop.harness.installs import REPOSITORY, ClientUnavailable, Steps, install_once, tool
from tests.support.waiting import wait_until

_TESTS_OF_A_MISSING_CLIENT = """
import pytest
from tests.interop.harness.installs import ClientUnavailable

@pytest.fixture(scope="module")
def client():
    raise ClientUnavailable("npm of-the-fixture: E404")

def test_one(client): ...

def test_two(client): ...

def test_three():
    raise ClientUnavailable("PyPI of-the-test: no route to host")

def test_another(): ...
"""


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(installs.announcer, "write", lines.append)
    return lines


def test_a_missing_client_skips_its_tests_with_the_reason_and_no_other_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.interop.harness.skips import pytest_runtest_makereport\n")
    (tmp_path / "test_it.py").write_text(_TESTS_OF_A_MISSING_CLIENT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed, 3 skipped" in run.stdout
    assert "npm of-the-fixture: E404" in run.stdout
    assert "PyPI of-the-test: no route to host" in run.stdout


def test_a_client_is_installed_once_per_recipe_and_announced_each_time(tmp_path: Path, announced: list[str]) -> None:
    folder, installed = tmp_path / "some-client", []

    def install(steps: Steps) -> None:
        steps.run("a folder", "mkdir", folder)
        installed.append(folder)

    for recipe in ("1.0", "1.0", "1.1"):
        install_once(folder, "some client", recipe, install)
    assert len(installed) == 2
    assert [line.partition("(")[0] for line in announced] == ["Getting some client "] * 2


@pytest.mark.usefixtures("announced")
def test_a_failing_registry_is_named_with_its_error_and_asked_only_once(tmp_path: Path) -> None:
    folder, attempts = tmp_path / "some-client", []

    def install(steps: Steps) -> None:
        attempts.append(1)
        steps.run("npm some-client", "sh", "-c", "echo looking; echo ERROR: 404 not found; echo bye; exit 1")

    for _ in range(2):
        with pytest.raises(ClientUnavailable, match=r"^npm some-client: ERROR: 404 not found$"):
            install_once(folder, "npm some-client", "1.0", install)
    assert len(attempts) == 1


@pytest.mark.usefixtures("announced")
def test_a_registry_that_never_answers_is_given_up_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installs, "INSTALL_DEADLINE_S", 0.3)
    process_ids = tmp_path / "process-ids"
    endless = f"sh -c 'echo $$ >> {process_ids}; sleep 600' & echo $$ >> {process_ids}; wait"

    def install(steps: Steps) -> None:
        steps.run("PyPI some-client", "sh", "-c", endless)

    with pytest.raises(ClientUnavailable, match=r"^PyPI some-client: not there within 0\.3 s$"):
        install_once(tmp_path / "some-client", "PyPI some-client", "1.0", install)
    wait_until(lambda: not any(_is_alive(number) for number in process_ids.read_text().split()), "both to be gone")


def _is_alive(process_id: str) -> bool:
    status = Path(f"/proc/{process_id}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ClientUnavailable, match="no `surely-not-a-program` on this machine"):
        tool("surely-not-a-program")
