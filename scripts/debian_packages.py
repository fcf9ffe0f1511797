"""Install Debian packages where that is allowed: by root, on a system that has apt-get."""

from __future__ import annotations

import os
import shutil
import subprocess


def can_install() -> bool:
    """True when this process may call apt-get."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def install(*packages: str) -> bool:
    """Install ``packages`` without questions; True when that worked. What apt says goes nowhere."""
    print(f"Installing Debian's {' '.join(packages)} (once) ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # A failing update may still leave lists that are good enough for the install.
    apt(environment, "update", "-qq")
    return apt(environment, "install", "-y", "-qq", "--no-install-recommends", *packages)


def apt(environment: dict[str, str], *arguments: str) -> bool:
    """Run apt-get; True when it succeeded."""
    command = ["apt-get", *arguments]
    silence = subprocess.DEVNULL
    return subprocess.run(command, env=environment, stdin=silence, stdout=silence, stderr=silence).returncode == 0
