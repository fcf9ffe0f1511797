"""``sqlite_utils.Database`` without pandas and numpy.

The library imports both where they are installed, and Spark's packages bring them: that costs the server 70 MB and a
second at its start, for column types that are not used here.
"""

from __future__ import annotations

import sys

_absent = [name for name in ("pandas", "numpy") if name not in sys.modules]
# A None in that table makes an import fail as if there were no such module.
sys.modules.update(dict.fromkeys(_absent))  # type: ignore[arg-type]  # the documented way to block an import
try:
    from sqlite_utils import Database
finally:
    for _name in _absent:
        del sys.modules[_name]

__all__ = ["Database"]
