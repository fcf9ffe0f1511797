"""Files that a page may name: folders inside the pipeline's own, and scenarios that GlassMQ brings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from app.foundation.translator import in_all_languages
from engine.fields.refusal import FieldRefused, shown
from engine.lab.scenario.scenario_files import scenario_names
from engine.pipeline.jobs.arguments import ArgumentRefused, by_parameter
from engine.pipeline.jobs.description import JobDescription, ParameterKind
from engine.texts import Text, joined, plain

#: Parts of a path that a page may name: no "..", no drive, no scheme, nothing hidden.
_PART = re.compile(r"[\w][\w.@=+ -]{0,99}")
_PARTS_MAX = 8
#: The folder to which the lab exports runs for audits. The host deletes old ones, so a job may read there but not
#: write.
EXPORTS_FOLDER = "lab"
_READ_ONLY = ("input_folder",)
#: Folders that the host itself uses.
_TAKEN = ("logs", "work")


def confine_folders(description: JobDescription, arguments: Mapping[str, object], root: Path) -> dict[str, object]:
    """Return ``arguments`` with every folder as an absolute path below ``root``; defaults of folders are confined as
    well.

    Raises ``ArgumentRefused`` for a folder elsewhere, and for a scenario that is a file.
    """
    # As the job will read them: a folder must not pass because its name is written with dashes.
    confined = by_parameter(arguments)
    for parameter in description.parameters:
        given = confined.get(parameter.name, parameter.default)
        if given is None or given == "":
            continue
        if parameter.kind is ParameterKind.FOLDER:
            confined[parameter.name] = str(_confine(parameter.name, given, root))
        elif parameter.kind is ParameterKind.SCENARIO and str(given).strip() not in scenario_names():
            raise _refusal(parameter.name, given, "scenario", in_all_languages("pipeline.wrong_scenario"))
    return confined


def _confine(name: str, given: object, root: Path) -> Path:
    parts = given.split("/") if isinstance(given, str) else []
    taken = _TAKEN if name in _READ_ONLY else (*_TAKEN, EXPORTS_FOLDER)
    text = in_all_languages("pipeline.wrong_folder", taken=joined("words.or_listed", map(plain, taken)))
    if not 1 <= len(parts) <= _PARTS_MAX or not all(_PART.fullmatch(part) for part in parts) or parts[0] in taken:
        raise _refusal(name, given, "folder", text)
    top = root.resolve()
    folder = (top / Path(*parts)).resolve()
    if not folder.is_relative_to(top):  # a symbolic link leads out
        raise _refusal(name, given, "folder", text)
    return folder


def _refusal(name: str, given: object, kind: str, text: Mapping[str, str]) -> ArgumentRefused:
    allowed = in_all_languages("pipeline.allowed_" + kind)
    return ArgumentRefused(FieldRefused(name, Text("field.bad", value=shown(given)), allowed, text))
