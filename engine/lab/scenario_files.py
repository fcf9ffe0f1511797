"""The scenarios that come with GlassMQ: ``tutorials/scenarios/*.yaml``.

The one file of the lab that reads files, and only these: a name must be one of :func:`scenario_names`.
"""

from __future__ import annotations

from pathlib import Path

from engine.lab.errors import UnknownScenario
from engine.lab.scenario import Scenario
from engine.lab.scenario_text import parse_scenario

_PROJECT = Path(__file__).resolve().parent.parent.parent


def _folder() -> Path:
    """A wheel carries the texts inside the package ``app``, a source tree beside it."""
    bundled = _PROJECT / "app" / "bundled"
    root = bundled if bundled.is_dir() else _PROJECT
    return root / "tutorials" / "scenarios"


def scenario_names() -> list[str]:
    """The names of all scenarios, sorted."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def scenario_text(name: str) -> str:
    """The text of one. Raises :class:`UnknownScenario` with the names there are."""
    names = scenario_names()
    if name not in names:
        raise UnknownScenario(f"there is no scenario {name!r}; there are: {', '.join(names)}")
    return (_folder() / f"{name}.yaml").read_text(encoding="utf-8")


def load_scenario(name: str) -> Scenario:
    """One, parsed. Raises :class:`UnknownScenario`, :class:`~engine.lab.errors.ScenarioError`."""
    return parse_scenario(scenario_text(name), name)
