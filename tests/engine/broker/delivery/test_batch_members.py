from hypothesis import given, settings
from hypothesis import strategies as st

from engine.broker.delivery.batch_members import batch_members
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message_properties import decode_properties
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
@given(st.lists(property_strings, max_size=5))
def test_every_message_of_a_batch_is_indexed_as_its_own_properties_say(texts):
    members = batch_members([(7, b"body", text.encode()) for text in texts], TAIL)
    for text, (flag, body, stored, tags_code, keys, unique_key) in zip(texts, members, strict=True):
        properties = decode_properties(text)
        assert (flag, body) == (7, b"body")
        assert decode_properties(stored.decode()) == {**properties, "CLUSTER": "C"}
        assert tags_code == (java_string_hash(properties["TAGS"]) if "TAGS" in properties else 0)
        assert (keys, unique_key) == (properties.get("KEYS", ""), properties.get("UNIQ_KEY", ""))


def test_the_properties_of_a_batch_stand_behind_one_separator():
    joined = [
        member[2] for member in batch_members([(0, b"", b""), (0, b"", b"k\x01v"), (0, b"", b"k\x01v\x02")], TAIL)
    ]
    assert joined == [TAIL, b"k\x01v\x02" + TAIL, b"k\x01v\x02" + TAIL]
