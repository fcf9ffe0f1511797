"""What Python's garbage collector looks at in a Spark worker that stays.

PySpark's workers collect all garbage after every task. NumPy, PyArrow and this package are some hundred thousand
objects that will never be garbage; to look at them all takes longer than a small task.
"""

from __future__ import annotations

import gc
from functools import cache


@cache
def spare_loaded_modules() -> None:
    """Let the collector leave alone what is loaded by now; once per process, for a task to call when it begins."""
    gc.freeze()
