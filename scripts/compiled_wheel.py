"""Puts the compiled modules into a wheel when the environment says ``GLASSMQ_COMPILED_WHEEL=1``; for ``make wheel``.

Hatch loads this file by its path, in an environment without GlassMQ.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledWheel(BuildHookInterface):  # type: ignore[misc]  # without hatchling it is Any
    """A build hook of hatchling that compiles modules for a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises ``BuildUnusable`` when there is no build of this source."""
        if os.environ.get("GLASSMQ_COMPILED_WHEEL") != "1":
            return
        sys.path.insert(0, self.root)
        from engine.compiled.form import usable_modules

        usable_modules()
        build_data["artifacts"].append("engine/compiled/built/**")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
