"""``sqlite_utils.Database`` without pandas and numpy.

The library imports both where they are installed, and Spark's packages bring them: that costs the server 70 MB and a
second at its start, for column types that are not used here.
"""

from __future__ import annotations

from app.foundation.hidden_packages import hidden_packages

with hidden_packages("pandas", "numpy"):
    from sqlite_utils import Database

__all__ = ["Database"]
