"""Play scenarios in the Python that runs this: ``python play_in_this_python.py PROJECT PACKAGES``.

``PROJECT`` is GlassMQ's folder, ``PACKAGES`` one with the packages that it needs, installed for another Python: those
in pure Python work in this one, and the compiled ones are hidden. The names of the scenarios come from the standard
input as a JSON list. For each, its golden journal, or why it was refused, goes to the standard output as a JSON object.
"""

from __future__ import annotations

import json
import logging
import sys


def main(project: str, packages: str) -> None:
    """Run as a script."""
    sys.path[:0] = [project]
    sys.path.append(packages)
    from tests.support.pythons.without_compiled_packages import hide_compiled_packages

    hide_compiled_packages()
    from engine.lab.scenario.errors import ScenarioError
    from tests.lab.golden_journal import play

    logging.disable(logging.CRITICAL)
    played: dict[str, object] = {}
    for name in json.load(sys.stdin):
        try:
            played[name] = play(name)
        except ScenarioError as refused:
            played[name] = str(refused)
    print(json.dumps(played), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
