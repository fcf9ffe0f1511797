import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.filter.bloom_filter import BloomFilter, BloomFilterData, may_want, set_bits
from engine.filter.murmur3 import murmur3_128_as_long
from engine.protocol.errors import MalformedBody


@pytest.mark.parametrize(
    ("text", "first_half"),
    [
        ("", 0),
        ("hello", 0xCBD8A7B341BD9B02),
        ("The quick brown fox jumps over the lazy dog", 0xE34BBC7BBC071B6C),
    ],
)
def test_murmur3_gives_the_published_values(text, first_half):
    assert murmur3_128_as_long(text.encode()) == first_half


@pytest.mark.parametrize(
    ("error_rate", "groups", "bits", "hashes"), [(20, 32, 112, 3), (20, 64, 216, 3), (10, 128, 616, 4), (1, 1, 16, 7)]
)
def test_the_sizes_are_rocketmqs(error_rate, groups, bits, hashes):
    bloom = BloomFilter(error_rate, groups)
    assert (bloom.bit_count, bloom.hash_count) == (bits, hashes)
    assert len(bloom.empty_map()) * 8 == bits


@pytest.mark.parametrize(("error_rate", "groups"), [(0, 32), (100, 32), (20, 0), (20, 9_600), (1, 1_000_000_000)])
def test_impossible_sizes_are_refused_with_what_is_allowed(error_rate, groups):
    with pytest.raises(ValueError, match="allowed"):
        BloomFilter(error_rate, groups)


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_group_whose_bits_are_set_is_never_excluded(one, other):
    bloom = BloomFilter(20, 32)
    bit_map = bloom.empty_map()
    set_bits(bit_map, bloom.generate(other))
    set_bits(bit_map, bloom.generate(one))
    assert may_want(bit_map, bloom.generate(one))
    assert may_want(bit_map, bloom.generate(other))


def test_few_groups_are_mistaken_for_others():
    bloom = BloomFilter(20, 32)
    bit_map = bloom.empty_map()
    for number in range(32):
        set_bits(bit_map, bloom.generate(f"group-{number}#T"))
    mistaken = sum(may_want(bit_map, bloom.generate(f"other-{number}#T")) for number in range(1_000))
    assert 100 < mistaken < 300  # one in five, at the number of groups that it was made for
    assert not may_want(bloom.empty_map(), bloom.generate("group-0#T"))


def test_positions_survive_the_file():
    data = BloomFilter(20, 32).generate("young#People")
    assert BloomFilterData.from_dict(data.to_dict()) == data
    assert BloomFilter(20, 32).is_valid(data)
    assert not BloomFilter(20, 64).is_valid(data)
    assert not BloomFilter(20, 32).is_valid(BloomFilterData(112, (1, 2, 112)))
    assert not BloomFilter(20, 32).is_valid(None)


@pytest.mark.parametrize("positions", [["1"], [True], [1.5], list(range(100))])
def test_positions_that_are_none_are_refused(positions):
    with pytest.raises(MalformedBody):
        BloomFilterData.from_dict({"bitNum": 112, "bitPos": positions})
