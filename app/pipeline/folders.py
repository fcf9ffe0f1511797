"""Files that a page names: folders inside the pipeline's own, scenarios that GlassMQ brings, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from engine.lab.scenario.scenario_files import scenario_names
from engine.pipeline.jobs.arguments import ArgumentRefused, by_parameter
from engine.pipeline.jobs.description import JobDescription, ParameterKind

#: Parts of a path that a page may write: no "..", no drive, no scheme, nothing hidden.
_PART = re.compile(r"[\w][\w.@=+ -]{0,99}")
_PARTS_MAX = 8
#: Where the lab puts the runs that are audited: the host deletes the old ones, so a job may read there and not write.
EXPORTS_FOLDER = "lab"
_READ_ONLY = ("input_folder",)
#: Folders that the host itself uses.
_TAKEN = ("logs", "work")


def confine_folders(description: JobDescription, arguments: Mapping[str, object], root: Path) -> dict[str, object]:
    """``arguments`` with every folder as an absolute path below ``root``; defaults of folders are confined as well.

    Raises ``ArgumentRefused`` for what would lie elsewhere, and for a scenario that is a file.
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
            raise _unknown_scenario(parameter.name)
    return confined


def _confine(name: str, given: object, root: Path) -> Path:
    parts = given.split("/") if isinstance(given, str) else []
    taken = _TAKEN if name in _READ_ONLY else (*_TAKEN, EXPORTS_FOLDER)
    if not 1 <= len(parts) <= _PARTS_MAX or not all(_PART.fullmatch(part) for part in parts) or parts[0] in taken:
        raise _refusal(name, taken)
    top = root.resolve()
    folder = (top / Path(*parts)).resolve()
    if not folder.is_relative_to(top):  # a link leads out
        raise _refusal(name, taken)
    return folder


def _refusal(name: str, taken: tuple[str, ...]) -> ArgumentRefused:
    return ArgumentRefused(
        name,
        {
            "en": "a page names folders below data/pipeline only, such as orders or archive/orders "
            f"(not {' or '.join(taken)}); the command line may name any",
            "zh": "网页只能指定 data/pipeline 之下的文件夹，例如 orders 或 archive/orders"
            f"（{'、'.join(taken)} 除外）；命令行可以指定任意文件夹",
        },
    )


def _unknown_scenario(name: str) -> ArgumentRefused:
    return ArgumentRefused(
        name,
        {
            "en": "there is no such scenario; a page names one that glassmq lab list shows, "
            "the command line may name a file",
            "zh": "没有这个场景；网页只能指定 glassmq lab list 列出的场景，命令行也可以指定文件",
        },
    )
