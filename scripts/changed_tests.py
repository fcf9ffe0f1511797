"""The tests of what has changed, for ``make test CHANGED=1``: against the commit where this branch left ``main``, and
with what is not committed yet.

Tests mirror the tree: ``engine/store/log/commit_log.py`` has ``tests/engine/store/log/test_commit_log.py``, and a file
without tests of its own is tested by its folder. That is a good guess and no proof: ``make check`` runs all. The choice
goes to standard output, the reasons to standard error; where there is no git nothing is chosen, and so everything runs.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

ALWAYS = "tests/test_repository_rules.py"
SOURCES = ("engine", "app", "scripts")
#: Everything else, by how its path begins; the first that fits counts.
OTHERS = {
    "tests/golden/lab/": ("tests/lab/test_golden_journals.py",),
    "tests/golden/": ("tests/engine/store", "tests/engine/protocol", "tests/engine/filter"),
    "tutorials/articles/": ("tests/app/articles", "tests/test_chinese_terms.py"),
    "tutorials/glossary.yaml": ("tests/app/glossary", "tests/test_chinese_terms.py", "tests/test_docs.py"),
    "tutorials/": ("tests/lab/test_golden_journals.py", "tests/app/lessons", "tests/app/articles"),
    "static/": ("tests/static", "tests/app/web/test_web.py", "tests/e2e"),
    "tests/static/": ("tests/static",),
    "templates/": ("tests/app/web/test_web.py", "tests/e2e"),
    "Makefile": ("tests/test_tiers.py",),
    "pyproject.toml": ("tests/test_tiers.py",),
    "docs/": ("tests/test_docs.py",),
    "README.md": ("tests/test_docs.py",),
    "CONTRIBUTING.md": ("tests/test_docs.py",),
}


def tests_of(changed: str, root: Path) -> tuple[str, ...]:
    """The files and folders of tests to run when this file has changed; none for what no test looks at."""
    path = PurePosixPath(changed)
    if path.parts[0] in SOURCES:
        return _mirrored(path, root)
    if path.parts[0] == "tests" and path.suffix == ".py":
        if path.name.startswith("test_"):
            return (changed,) if (root / path).exists() else ()
        if path.name == "conftest.py":
            return (path.parent.as_posix(),) if (root / path.parent).is_dir() else ()
        return _users(path, root)
    return next((tests for begin, tests in OTHERS.items() if changed.startswith(begin)), ())


def _mirrored(path: PurePosixPath, root: Path) -> tuple[str, ...]:
    """``test_NAME.py``, ``test_NAME_....py`` in the mirrored folder or above it; else the nearest folder there is."""
    folders = [PurePosixPath("tests", *path.parts[:depth]) for depth in range(len(path.parts) - 1, 0, -1)]
    for folder in folders:
        if found := sorted((root / folder).glob(f"test_{path.stem}.py")) + sorted(
            (root / folder).glob(f"test_{path.stem}_*.py")
        ):
            return tuple((folder / file.name).as_posix() for file in found)
    return next(((folder.as_posix(),) for folder in folders if (root / folder).is_dir()), ())


def _users(helper: PurePosixPath, root: Path) -> tuple[str, ...]:
    """The tests that import a file which several of them share."""
    module = ".".join(helper.with_suffix("").parts)
    importing = (f"from {module} import", f"import {module}", f"from {module.rpartition('.')[0]} import {helper.stem}")
    files = sorted((root / "tests").rglob("test_*.py"))
    return tuple(
        file.relative_to(root).as_posix() for file in files if any(line in file.read_text() for line in importing)
    )


def chosen(changed: Iterable[str], root: Path) -> dict[str, tuple[str, ...]]:
    """What is run because of each file."""
    return {path: tests_of(path, root) for path in sorted(set(changed))}


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed_files(root: Path) -> list[str]:
    """Since this branch left ``main``; on ``main``, or without one, what is not committed."""
    try:
        (begin,) = _git(root, "merge-base", "HEAD", "main")
    except subprocess.CalledProcessError:
        begin = "HEAD"
    return _git(root, "diff", "--name-only", begin) + _git(root, "ls-files", "--others", "--exclude-standard")


def main() -> int:
    """Write the choice."""
    root = Path.cwd()
    try:
        reasons = chosen(changed_files(root), root)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"what has changed is not known ({error}): all tests run", file=sys.stderr)
        return 1
    for path, tests in reasons.items():
        print(f"{path}: {', '.join(tests) or 'no tests'}", file=sys.stderr)
    print(f"always: {ALWAYS}", file=sys.stderr)
    run = {ALWAYS, *(test for tests in reasons.values() for test in tests)}
    print(*sorted(test for test in run if not any(parent.as_posix() in run for parent in PurePosixPath(test).parents)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
