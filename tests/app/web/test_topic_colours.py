"""The colours of topics in styles/tokens.css lie far enough apart for everybody, and their text is readable on them.

Distances are CIEDE2000; what colour-blind people see is simulated as Machado, Oliveira and Fernandes do (2009), with
nothing of the missing cone left.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[3] / "static"
EYES = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)


def topic_tones() -> list[str]:
    """The colours of topics; grey, which the system's have, last."""
    source = (STATIC / "common" / "palette.js").read_text()
    listed = re.search(r"const TONES = \[(.*?)\]", source, re.DOTALL)
    assert listed is not None
    return [*re.findall(r'"(\w+)"', listed[1]), "grey"]


def tokens() -> dict[str, tuple[str, str]]:
    """Tone -> its colour, and that of text on it."""
    pattern = r"\.tone-(\w+) \{ --tone: (#\w{6}); --on-tone: (#\w{6}); \}"
    return {name: (tone, text) for name, tone, text in re.findall(pattern, (STATIC / "styles/tokens.css").read_text())}


def linear(colour: str) -> list[float]:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def times(matrix, vector) -> list[float]:
    return [sum(one * other for one, other in zip(row, vector, strict=True)) for row in matrix]


def lab(colour: str, eye: str) -> tuple[float, float, float]:
    seen = [min(1.0, max(0.0, share)) for share in times(EYES[eye], linear(colour))]
    scaled = [share / white for share, white in zip(times(XYZ, seen), WHITE, strict=True)]
    x, y, z = (share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116 for share in scaled)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, eye: str) -> float:
    """CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = lab(one, eye), lab(other, eye)
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1 + 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    c1, c2 = math.hypot(a1 * stretch, b1), math.hypot(a2 * stretch, b2)
    h1, h2 = (math.degrees(math.atan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    hue = (h1 + turn / 2) % 360
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    weights = ((1, 0, 1, -90), (-0.17, 1, 1, -30), (0.24, 1, 2, 0), (0.32, 1, 3, 6), (-0.20, 1, 4, -63))
    t = 1 + sum(share * math.cos(math.radians(times_ * hue + shift)) for share, _, times_, shift in weights[1:])
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    twist = -math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    twist *= 2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / s_c
    d_h = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / s_h
    return math.sqrt(d_l**2 + d_c**2 + d_h**2 + twist * d_c * d_h)


def test_the_distance_is_that_of_the_published_examples():
    """Black and white lie 100 apart; the sRGB primaries' distances are in every table."""
    assert distance("#000000", "#ffffff", "usual") == pytest.approx(100, abs=0.1)
    assert distance("#ff0000", "#00ff00", "usual") == pytest.approx(86.6, abs=0.1)
    assert distance("#ff0000", "#0000ff", "usual") == pytest.approx(52.9, abs=0.1)


@pytest.mark.parametrize(
    ("eye", "least"), [("usual", 20), ("protanopia", 14), ("deuteranopia", 12), ("tritanopia", 16)]
)
def test_no_two_colours_of_topics_look_alike(eye, least):
    colours = tokens()
    pairs = itertools.combinations(topic_tones(), 2)
    close = {pair: distance(colours[pair[0]][0], colours[pair[1]][0], eye) for pair in pairs}
    assert min(close.values()) >= least - 0.5, min(close, key=close.__getitem__)


@pytest.mark.parametrize("tone", topic_tones())
def test_text_on_a_topic_s_colour_is_readable(tone):
    luminances = sorted(times(XYZ, linear(colour))[1] + 0.05 for colour in tokens()[tone])
    assert luminances[1] / luminances[0] >= 4.5
