from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.lab.explorer.shrink import ddmin


@given(st.integers(0, 12), st.data())
def test_what_is_left_fails_and_nothing_of_it_can_be_left_out(length: int, data: st.DataObject) -> None:
    needed = data.draw(st.lists(st.integers(0, max(0, length - 1)), unique=True, max_size=length))

    def fails(parts: tuple[int, ...]) -> bool:
        return all(part in parts for part in needed)

    assert ddmin(tuple(range(length)), fails) == tuple(sorted(needed))


@given(st.sets(st.integers(0, 9), min_size=1), st.integers(1, 5))
def test_each_part_of_what_is_left_matters_for_any_failure(breaking: set[int], count: int) -> None:
    def fails(parts: tuple[int, ...]) -> bool:
        return sum(part in breaking for part in parts) >= min(count, len(breaking)) and len(parts) != 7

    kept = ddmin(tuple(range(10)), fails)
    assert fails(kept)
    assert not any(fails((*kept[:index], *kept[index + 1 :])) for index in range(len(kept)))
