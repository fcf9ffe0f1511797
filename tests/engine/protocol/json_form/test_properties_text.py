"""Settings as Java properties text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.properties_text import format_properties, parse_properties


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1 \r\nb:2\n\nc 3", {"a": "1", "b": "2", "c": "3"}),
        ("# note\n! note\na=1=2", {"a": "1=2"}),
        ("a\\=b=c\\:d", {"a=b": "c:d"}),
        ("path=C\\:\\\\x\\ty", {"path": "C:\\x\ty"}),
        ("u=\\u4e2d\\ud83d\\ude00", {"u": "中😀"}),
        ("a=1\na=2", {"a": "2"}),
        ("empty=", {"empty": ""}),
        ("a=1\\\n  2\nb=3\\\\\nc=4\\", {"a": "12", "b": "3\\", "c": "4"}),
        ("# no \\\na=1\\\r\n#2", {"a": "1#2"}),
        ("", {}),
    ],
)
def test_lines_are_read_as_java_reads_them(text, expected):
    assert parse_properties(text.encode()) == expected


@pytest.mark.parametrize("body", [b"=1", b"a=1\n" * 20_000])
def test_what_is_no_list_of_settings_is_refused(body):
    with pytest.raises(MalformedBody):
        parse_properties(body)


@given(
    st.dictionaries(
        st.from_regex(r"[a-zA-Z][a-zA-Z0-9]*", fullmatch=True), st.from_regex(r"[a-zA-Z0-9.;_-]*", fullmatch=True)
    )
)
def test_plain_settings_come_back_as_they_were(settings):
    assert parse_properties(format_properties(settings)) == settings


@given(st.binary(max_size=200))
def test_no_text_breaks_the_reader(body):
    try:
        settings = parse_properties(body)
    except MalformedBody:
        return
    for name, value in settings.items():
        (name + value).encode()
