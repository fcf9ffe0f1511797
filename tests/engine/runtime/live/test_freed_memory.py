from __future__ import annotations

import platform
import subprocess
import sys

import pytest

#: Makes blocks of half a MiB, each for a moment, and prints how many pages the kernel had to bring for them.
CHURN = """
import resource, sys
from engine.runtime.live.freed_memory import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
def churn():
    for _ in range(100):
        blocks = [b"x" * 524_288 for _ in range(8)]
churn()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
churn()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(mode: str) -> int:
    return int(subprocess.run([sys.executable, "-c", CHURN, mode], check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has this setting")
def test_large_blocks_that_live_for_a_moment_are_not_given_back_to_the_kernel():
    assert page_faults("keep") * 100 < page_faults("leave")
