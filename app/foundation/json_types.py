"""Types of plain JSON trees, as they travel between the engine's thread, the stream and the page."""

from __future__ import annotations

from typing import Any

#: Any JSON tree; for code that works on every tree alike.
JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]
#: A JSON object from another process, or of a format that is not one of this project.
JsonObject = dict[str, Any]
