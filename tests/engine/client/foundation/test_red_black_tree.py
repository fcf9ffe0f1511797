"""The red-black tree behaves as a sorted map, and keeps the five rules after every change."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.client.foundation.red_black_tree import RedBlackNode, RedBlackTree

KEYS = st.integers(-50, 50)


def check_invariants(tree: RedBlackTree[int]) -> None:
    """Raise AssertionError where ``tree`` is not a red-black tree, or its links or size are wrong."""

    def black_height(node: RedBlackNode[int], low: float, high: float) -> int:
        if node is tree.nil:
            return 0
        assert low < node.key < high, f"{node} lies outside ({low}, {high})"
        assert node.color in ("red", "black")
        for child in (node.left, node.right):
            if child is not tree.nil:
                assert child.parent is node, f"{child} does not know its parent {node}"
            if node.color == "red":
                assert child.color == "black", f"red {node} has the red child {child}"
        left = black_height(node.left, low, node.key)
        assert left == black_height(node.right, node.key, high), f"the black heights below {node} differ"
        return left + (node.color == "black")

    assert tree.nil.color == "black"
    assert tree.root.color == "black"
    assert tree.root is tree.nil or tree.root.parent is tree.nil
    black_height(tree.root, -math.inf, math.inf)
    assert len(tree) == sum(1 for _ in tree.nodes())


class TreeAgainstDictionary(RuleBasedStateMachine):
    """Every operation does to the tree what it does to a dictionary that is sorted on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.tree: RedBlackTree[int] = RedBlackTree()
        self.model: dict[int, int] = {}

    @rule(key=KEYS, value=st.integers())
    def put(self, key: int, value: int) -> None:
        assert self.tree.put(key, value) == self.model.get(key)
        self.model[key] = value

    @rule(key=KEYS)
    def remove(self, key: int) -> None:
        assert self.tree.remove(key) == self.model.pop(key, None)

    @rule()
    def poll_first(self) -> None:
        if not self.model:
            assert self.tree.poll_first() is None
            return
        key = min(self.model)
        assert self.tree.poll_first() == (key, self.model.pop(key))

    @rule(key=KEYS)
    def look_around(self, key: int) -> None:
        above = [other for other in self.model if other >= key]
        assert self.tree.ceiling(key) == ((min(above), self.model[min(above)]) if above else None)
        assert self.tree.get(key) == self.model.get(key)
        assert (key in self.tree) == (key in self.model)

    @rule()
    def clear(self) -> None:
        self.tree.clear()
        self.model.clear()

    @invariant()
    def holds_the_same_in_order(self) -> None:
        check_invariants(self.tree)
        assert list(self.tree.items()) == sorted(self.model.items())
        assert self.tree.first_key() == min(self.model, default=None)
        assert self.tree.last_key() == max(self.model, default=None)


TestTreeAgainstDictionary = TreeAgainstDictionary.TestCase


@given(st.permutations(range(60)), st.permutations(range(60)))
def test_any_order_of_insertion_and_deletion_keeps_the_rules(inserted: list[int], removed: list[int]) -> None:
    tree: RedBlackTree[int] = RedBlackTree()
    for key in inserted:
        tree.put(key, key)
        check_invariants(tree)
    assert list(tree) == list(range(60))
    for key in removed:
        assert tree.remove(key) == key
        check_invariants(tree)
    assert tree.root is tree.nil


def test_a_tree_filled_in_ascending_order_stays_flat() -> None:
    tree: RedBlackTree[None] = RedBlackTree()
    for key in range(10_000):
        tree.put(key, None)

    def height(node: RedBlackNode[None]) -> int:
        return 0 if node is tree.nil else 1 + max(height(node.left), height(node.right))

    assert height(tree.root) <= 2 * math.log2(10_001)


def test_a_node_stays_the_same_object_while_its_key_is_in_the_tree() -> None:
    tree: RedBlackTree[str] = RedBlackTree()
    for key in range(20):
        tree.put(key, str(key))
    before = {node.key: node for node in tree.nodes()}
    for key in (7, 3, 12, 0, 19):
        tree.remove(key)
    assert all(before[node.key] is node and node.value == str(node.key) for node in tree.nodes())


@pytest.mark.parametrize("question", ["first_key", "last_key", "first_value", "poll_first"])
def test_an_empty_tree_answers_none(question: str) -> None:
    assert getattr(RedBlackTree(), question)() is None


def test_the_checker_itself_finds_a_red_node_below_a_red_one() -> None:
    tree: RedBlackTree[int] = RedBlackTree()
    for key in range(8):
        tree.put(key, key)
    for node in tree.nodes():
        if node is not tree.root:
            node.color = "red"
    with pytest.raises(AssertionError, match="red child"):
        check_invariants(tree)
