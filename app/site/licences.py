"""The third-party parts of the site, with their licences: what the build copies into it, as each part names it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

from app.site.python_files import MODULES, PACKAGES


@dataclass(frozen=True, slots=True)
class ThirdParty:
    """One part. ``version`` is empty where its files do not name it.

    :ivar licence: its name, as the part itself gives it.
    :ivar text: the text of the licence; empty where the part comes without one.
    """

    name: str
    version: str
    licence: str
    text: str


def third_parties(static: Path, pyodide: Path) -> list[ThirdParty]:
    """Return what the site contains, by name: Pyodide with Python, packages of Python, packages of the page."""
    package = json.loads((pyodide / "package.json").read_text(encoding="utf-8"))
    runtime = [
        ThirdParty("Pyodide", package["version"], package.get("license", ""), ""),
        ThirdParty("CPython", "", "PSF-2.0", ""),
    ]
    providers = packages_distributions()
    names = {providers[module][0] for module in (*PACKAGES, *MODULES)}
    python = [_of_python(distribution(name)) for name in sorted(names, key=str.lower)]
    return [*runtime, *python, *_of_page(static / "vendor")]


def _of_python(found: Distribution) -> ThirdParty:
    facts = found.metadata.json
    classified = [line.split(" :: ")[-1] for line in facts.get("classifier", ()) if line.startswith("License :: ")]
    licence = facts.get("license_expression") or ", ".join(classified) or str(facts.get("license", "")).split("\n")[0]
    texts = [file for file in found.files or () if file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING"))]
    text = "\n\n".join(file.read_text() for file in texts if file.suffix in ("", ".txt", ".md", ".rst"))
    return ThirdParty(found.name, found.version, str(licence), text)


def _of_page(vendor: Path) -> list[ThirdParty]:
    found = []
    for file in sorted(vendor.rglob("LICENSE")):
        text = file.read_text(encoding="utf-8").strip()
        first = text.split("\n")[0].strip()
        licence = next((name for word, name in (("MIT", "MIT"), ("Apache", "Apache-2.0")) if word in first), first)
        found.append(ThirdParty(file.parent.relative_to(vendor).as_posix(), "", licence, text))
    return found
