"""Prometheus' text format, version 0.0.4.

::

    # HELP rocketmq_broker_tps Messages stored per second, over the last minute.
    # TYPE rocketmq_broker_tps gauge
    rocketmq_broker_tps{cluster="DefaultCluster",brokerIP="127.0.0.1:10911",broker="broker-a"} 12.5
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(slots=True)
class MetricFamily:
    """The samples of one name. ``kind`` is ``gauge`` or ``counter`` (the name of a counter ends in ``_total``)."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    kind: str = "gauge"
    samples: list[tuple[tuple[str, ...], float]] = field(default_factory=list)

    def add(self, values: Sequence[str], value: float) -> None:
        """Add a sample with ``values`` for the labels."""
        self.samples.append((tuple(values), value))


def exposition(families: Iterable[MetricFamily]) -> str:
    """Return the body of a reply. Families without samples are left out."""
    lines: list[str] = []
    for family in families:
        if not family.samples:
            continue
        help_text = family.help.replace("\\", r"\\").replace("\n", r"\n")
        lines.append(f"# HELP {family.name} {help_text}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        for values, value in family.samples:
            labels = ",".join(
                f'{name}="{text.translate(_ESCAPES)}"' for name, text in zip(family.labels, values, strict=True)
            )
            # repr gives every digit of a float: apart from offsets above 2^53, nothing is lost.
            lines.append(f"{family.name}{{{labels}}} {value!r}" if labels else f"{family.name} {value!r}")
    lines.append("")
    return "\n".join(lines)
