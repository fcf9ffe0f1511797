"""Folders that a page names: inside the pipeline's own folder, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from engine.pipeline.jobs.arguments import ArgumentRefused
from engine.pipeline.jobs.description import JobDescription, ParameterKind

#: Parts of a path that a page may write: no "..", no drive, no scheme, nothing hidden.
_PART = re.compile(r"[\w][\w.@=+ -]{0,99}")
_PARTS_MAX = 8
#: Folders that the host itself uses.
_TAKEN = ("logs", "work")


def confine_folders(description: JobDescription, arguments: Mapping[str, object], root: Path) -> dict[str, object]:
    """``arguments`` with every folder as an absolute path below ``root``; defaults of folders are confined as well.

    Raises ``ArgumentRefused`` for what would lie elsewhere.
    """
    confined = dict(arguments)
    for parameter in description.parameters:
        if parameter.kind is not ParameterKind.FOLDER:
            continue
        given = arguments.get(parameter.name, parameter.default)
        if given is None or given == "":
            continue
        confined[parameter.name] = str(_confine(parameter.name, given, root))
    return confined


def _confine(name: str, given: object, root: Path) -> Path:
    parts = given.split("/") if isinstance(given, str) else []
    if not 1 <= len(parts) <= _PARTS_MAX or not all(_PART.fullmatch(part) for part in parts) or parts[0] in _TAKEN:
        raise _refusal(name)
    top = root.resolve()
    folder = (top / Path(*parts)).resolve()
    if not folder.is_relative_to(top):  # a link leads out
        raise _refusal(name)
    return folder


def _refusal(name: str) -> ArgumentRefused:
    return ArgumentRefused(
        name,
        {
            "en": "a page names folders below data/pipeline only, such as orders or archive/orders "
            f"(not {' or '.join(_TAKEN)}); the command line may name any",
            "zh": "网页只能指定 data/pipeline 之下的文件夹，例如 orders 或 archive/orders"
            f"（{'、'.join(_TAKEN)} 除外）；命令行可以指定任意文件夹",
        },
    )
