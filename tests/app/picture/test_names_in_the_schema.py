"""The names in app/picture: each fact has one, and what the comments point to exists."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import app.picture
from tests.app.picture.test_units_of_time import keys_of_the_schema

#: Another name of a fact, or a size without its unit -> the name that all answers have.
ONE_NAME = {
    "bytes": "size_bytes",
    "deed": "action",
    "disorder": "out_of_order",
    "log_begin": "min",
    "log_end": "max",
    "needed": "replicas_needed",
    "oneway": "is_oneway",
    "retry": "reconsume_times",
    "size": "size_bytes",
}


def test_a_fact_has_one_name_in_all_answers():
    keys = keys_of_the_schema()
    assert keys & ONE_NAME.keys() == set()
    assert set(ONE_NAME.values()) <= keys


def test_what_the_schema_points_to_exists():
    (folder,) = app.picture.__path__
    texts = [path.read_text(encoding="utf-8") for path in Path(folder).rglob("*.py")]
    names = {name for text in texts for name in re.findall(r"`~?((?:app|engine)\.[\w.]+\w)`", text)}
    assert len(names) > 10
    for name in names:
        resolve_name(name)
