"""JSON from outside is strict: a field that is given twice, or nesting without end, is refused and not guessed."""

import pytest

from engine.fields.json_input import parse_json
from engine.fields.refusal import FieldRefused


@pytest.mark.parametrize(
    ("data", "path", "error"),
    [
        (b'{"a": 1, "a": 2}', "a", "a: is given twice; allowed: once"),
        (b'[{"b": {"a": 1, "c": [], "a": 1}}]', "a", "a: is given twice; allowed: once"),
        (b"[" * 100_000, "body", "body: is not JSON: "),
        (b"[" * 1_000 + b"]" * 1_000, "body", "body: is not JSON: "),
        (b'{"a": NaN}', "body", "body: is not JSON: "),
        (b'{"a": "\xff"}', "body", "body: is not JSON: "),
        (b'{"a": "\\ud800"}', "body", "body: is not JSON: "),
        (b"", "body", "body: is not JSON: "),
    ],
)
def test_what_is_not_strict_json_is_refused(data, path, error):
    with pytest.raises(FieldRefused) as refused:
        parse_json(data)
    assert refused.value.path == path
    assert str(refused.value).startswith(error)


def test_json_is_read():
    assert parse_json(b'{"a": [1, {"a": null}]}') == {"a": [1, {"a": None}]}
