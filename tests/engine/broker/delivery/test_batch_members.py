from hypothesis import given, settings
from hypothesis import strategies as st

from engine.broker.delivery.batch_members import batch_members
from engine.protocol.java_hash import java_string_hash
from engine.protocol.java_text import java_text
from engine.protocol.message.message_properties import decode_properties, encode_properties
from tests.support.tiers import examples

TAIL = b"CLUSTER\x01C"

property_strings = st.builds(
    lambda parts, ended: "\x02".join("".join(part) for part in parts) + ("\x02" if ended else ""),
    st.lists(
        st.tuples(
            st.sampled_from(["UNIQ_KEY", "TAGS", "KEYS", "WAIT", "XUNIQ_KEY", "", "a"]),
            st.sampled_from(["\x01", ""]),
            st.sampled_from(["", "v", "w", "UNIQ_KEY", "x\x01y"]),
        ),
        max_size=4,
    ),
    st.booleans(),
)


@settings(max_examples=examples(quick=100, full=500))
@given(st.lists(property_strings, max_size=5), property_strings)
def test_every_message_of_a_batch_is_indexed_as_its_stored_properties_say(texts, common):
    tail = encode_properties({**decode_properties(common), "CLUSTER": "C"}).encode()
    members = batch_members([(7, b"body", text.encode()) for text in texts], tail)
    for text, (flag, body, stored, tags_code, keys, unique_key) in zip(texts, members, strict=True):
        properties = {**decode_properties(text), **decode_properties(common), "CLUSTER": "C"}
        assert (flag, body) == (7, b"body")
        assert decode_properties(stored.decode()) == properties
        assert tags_code == (java_string_hash(properties["TAGS"]) if "TAGS" in properties else 0)
        assert (keys, unique_key) == (properties.get("KEYS", ""), properties.get("UNIQ_KEY", ""))


@given(st.lists(st.binary(max_size=12), min_size=1, max_size=4))
def test_properties_of_any_bytes_are_stored_as_they_are(values):
    for value, member in zip(values, batch_members([(0, b"", b"UNIQ_KEY\x01" + v) for v in values], TAIL), strict=True):
        assert member[2].startswith(b"UNIQ_KEY\x01" + value)
        assert member[5] == decode_properties(java_text(member[2])).get("UNIQ_KEY", "")


def test_the_properties_of_a_batch_stand_behind_one_separator():
    joined = [
        member[2] for member in batch_members([(0, b"", b""), (0, b"", b"k\x01v"), (0, b"", b"k\x01v\x02")], TAIL)
    ]
    assert joined == [TAIL, b"k\x01v\x02" + TAIL, b"k\x01v\x02" + TAIL]
