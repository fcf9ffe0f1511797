"""What the programs here share: ``--write``, which puts tables into a document at their places, and the machine."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from pathlib import Path

import click

from app.commands.document_table import read_with_place, write_table

_PROCESSORS = Path("/proc/cpuinfo")


def parse_with_document(
    parser: argparse.ArgumentParser, arguments: Sequence[str], marks: Sequence[str]
) -> argparse.Namespace:
    """The options, ``write`` (``Path | None``) among them. A document without its places is refused before anything is
    measured.
    """
    parser.add_argument("--write", type=Path, help="put what is measured into this document, at its place")
    options = parser.parse_args(arguments)
    if options.write:
        try:
            for mark in marks:
                read_with_place(options.write, mark)
        except (OSError, click.UsageError) as reason:
            parser.error(f"--write: {reason}")
    return options


def publish(document: Path | None, mark: str, text: str) -> None:
    """Print, and write where it was asked for."""
    print(text)
    if document:
        write_table(document, mark, text)


def machine(load_averages: Sequence[float] = ()) -> str:
    """Cores, Python and how busy it was: the averages of a run, else the one of now."""
    averages = load_averages or [os.getloadavg()[0]]
    least, most = f"{min(averages):.1f}", f"{max(averages):.1f}"
    load = least if least == most else f"{least} to {most}"
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, load average {load}"


def processor_and_system() -> str:
    """The processor's name where Linux tells it, and the kernel."""
    lines = _PROCESSORS.read_text("utf-8").splitlines() if _PROCESSORS.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return ", ".join([*names[:1], f"{platform.system()} {platform.release()}"])
