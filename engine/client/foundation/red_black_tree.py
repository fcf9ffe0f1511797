"""A red-black tree from integers to values (Java: ``java.util.TreeMap``, which RocketMQ's ``ProcessQueue`` uses).

A red-black tree is a binary search tree whose nodes are red or black, such that

1. the root is black, and so is every missing child (:attr:`RedBlackTree.nil` stands for all of them);
2. a red node has two black children;
3. every path from a node down to a missing child has the same number of black nodes.

Hence no path down is more than twice as long as another, and finding, inserting and deleting take O(log n) steps. An
insertion colours the new node red, which can only break rule 2; a deletion may remove a black node from a path, which
breaks rule 3. Both are repaired by recolouring on the way up and by at most three rotations. This is the algorithm of
Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 13, without shortcuts: the page draws the
actual nodes of the engine, and a node stays the same object while its key is in the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Literal, TypeVar

V = TypeVar("V")

Color = Literal["red", "black"]


class RedBlackNode(Generic[V]):
    """A node with a key and its value. ``left``, ``right`` and ``parent`` are the tree's ``nil`` if absent."""

    __slots__ = ("color", "key", "left", "parent", "right", "value")

    color: Color
    key: int
    value: V
    left: RedBlackNode[V]
    right: RedBlackNode[V]
    parent: RedBlackNode[V]

    def __repr__(self) -> str:
        return f"<{self.color} {self.key}>" if hasattr(self, "key") else "<nil>"


class RedBlackTree(Generic[V]):
    """A sorted map from ``int`` to ``V``. Not safe against changes during iteration, as no map of Python is."""

    __slots__ = ("_size", "nil", "root")

    def __init__(self) -> None:
        #: The one black node that stands for every missing child and for the root's parent. It has no key. Its
        #: ``parent`` is scratch space of the deletion, which must climb from a child that may be missing.
        self.nil: RedBlackNode[V] = RedBlackNode()
        self.nil.color = "black"
        self.nil.left = self.nil.right = self.nil.parent = self.nil
        #: The top node; ``nil`` when the tree is empty. For reading only: the page draws from here.
        self.root: RedBlackNode[V] = self.nil
        self._size = 0

    # --- reading ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._size

    def __contains__(self, key: int) -> bool:
        return self._find(key) is not self.nil

    def __iter__(self) -> Iterator[int]:
        """Yield the keys, ascending."""
        return (node.key for node in self.nodes())

    def nodes(self) -> Iterator[RedBlackNode[V]]:
        """Yield the nodes by ascending key."""
        node = self._minimum(self.root)
        while node is not self.nil:
            yield node
            node = self._successor(node)

    def items(self) -> Iterator[tuple[int, V]]:
        """Yield the keys with their values, ascending."""
        return ((node.key, node.value) for node in self.nodes())

    def values(self) -> Iterator[V]:
        """Yield the values by ascending key."""
        return (node.value for node in self.nodes())

    def get(self, key: int) -> V | None:
        """Return the value of ``key``, or None."""
        return self._value_of(self._find(key))

    def first_key(self) -> int | None:
        """Return the smallest key, or None if the tree is empty."""
        node = self._minimum(self.root)
        return None if node is self.nil else node.key

    def last_key(self) -> int | None:
        """Return the greatest key, or None if the tree is empty."""
        node = self.root
        if node is self.nil:
            return None
        while node.right is not self.nil:
            node = node.right
        return node.key

    def first_value(self) -> V | None:
        """Return the value of the smallest key, or None."""
        return self._value_of(self._minimum(self.root))

    def ceiling(self, key: int) -> tuple[int, V] | None:
        """Return the entry with the smallest key that is not smaller than ``key``."""
        best = self.nil
        node = self.root
        while node is not self.nil:
            if node.key >= key:
                best, node = node, node.left
            else:
                node = node.right
        return None if best is self.nil else (best.key, best.value)

    # --- changing --------------------------------------------------------------------------------------------------

    def put(self, key: int, value: V) -> V | None:
        """Set the value of ``key``. Return the replaced value, or None if the key is new."""
        parent = self.nil
        node = self.root
        while node is not self.nil:
            parent = node
            if key == node.key:
                replaced, node.value = node.value, value
                return replaced
            node = node.left if key < node.key else node.right
        self._attach(self._new_node(key, value), parent)
        return None

    def remove(self, key: int) -> V | None:
        """Remove ``key``. Return its value, or None if it was absent."""
        node = self._find(key)
        if node is self.nil:
            return None
        self._delete(node)
        return node.value

    def poll_first(self) -> tuple[int, V] | None:
        """Remove the entry with the smallest key and return it; None if the tree is empty."""
        node = self._minimum(self.root)
        if node is self.nil:
            return None
        self._delete(node)
        return node.key, node.value

    def clear(self) -> None:
        """Remove everything."""
        self.root = self.nil
        self._size = 0

    # --- internals -------------------------------------------------------------------------------------------------

    def _value_of(self, node: RedBlackNode[V]) -> V | None:
        return None if node is self.nil else node.value

    def _new_node(self, key: int, value: V) -> RedBlackNode[V]:
        node: RedBlackNode[V] = RedBlackNode()
        node.key, node.value = key, value
        node.color = "red"
        node.left = node.right = node.parent = self.nil
        return node

    def _find(self, key: int) -> RedBlackNode[V]:
        node = self.root
        while node is not self.nil and node.key != key:
            node = node.left if key < node.key else node.right
        return node

    def _minimum(self, node: RedBlackNode[V]) -> RedBlackNode[V]:
        while node.left is not self.nil:
            node = node.left
        return node

    def _successor(self, node: RedBlackNode[V]) -> RedBlackNode[V]:
        if node.right is not self.nil:
            return self._minimum(node.right)
        parent = node.parent
        while parent is not self.nil and node is parent.right:
            node, parent = parent, parent.parent
        return parent

    def _rotate_left(self, node: RedBlackNode[V]) -> None:
        r"""Lift the right child above ``node``; the order of keys stays.

            node                 riser
            /  \                 /  \
           a   riser     =>    node  c
               /  \            /  \
              b    c          a    b
        """
        riser = node.right
        node.right = riser.left
        if riser.left is not self.nil:
            riser.left.parent = node
        self._replace_child(node, riser)
        riser.left = node
        node.parent = riser

    def _rotate_right(self, node: RedBlackNode[V]) -> None:
        """Lift the left child above ``node``: the mirror image of :meth:`_rotate_left`."""
        riser = node.left
        node.left = riser.right
        if riser.right is not self.nil:
            riser.right.parent = node
        self._replace_child(node, riser)
        riser.right = node
        node.parent = riser

    def _replace_child(self, old: RedBlackNode[V], new: RedBlackNode[V]) -> None:
        """Make ``old``'s parent point to ``new``. Sets the parent even of ``nil``: the deletion relies on it."""
        parent = old.parent
        if parent is self.nil:
            self.root = new
        elif old is parent.left:
            parent.left = new
        else:
            parent.right = new
        new.parent = parent

    def _attach(self, node: RedBlackNode[V], parent: RedBlackNode[V]) -> None:
        node.parent = parent
        if parent is self.nil:
            self.root = node
        elif node.key < parent.key:
            parent.left = node
        else:
            parent.right = node
        self._size += 1
        self._repair_after_insert(node)

    def _repair_after_insert(self, node: RedBlackNode[V]) -> None:
        """Repair rule 2, which is broken exactly where ``node`` and its parent are both red."""
        while node.parent.color == "red":
            parent = node.parent
            grandparent = parent.parent
            parent_is_left = parent is grandparent.left
            uncle = grandparent.right if parent_is_left else grandparent.left
            if uncle.color == "red":  # push the blackness of the grandparent down; continue above it
                parent.color = uncle.color = "black"
                grandparent.color = "red"
                node = grandparent
                continue
            if parent_is_left:
                if node is parent.right:  # an inner grandchild becomes an outer one first
                    node = parent
                    self._rotate_left(node)
                node.parent.color = "black"
                grandparent.color = "red"
                self._rotate_right(grandparent)
            else:
                if node is parent.left:
                    node = parent
                    self._rotate_right(node)
                node.parent.color = "black"
                grandparent.color = "red"
                self._rotate_left(grandparent)
        self.root.color = "black"

    def _delete(self, node: RedBlackNode[V]) -> None:
        removed_color = node.color
        if node.left is self.nil:
            child = node.right
            self._replace_child(node, child)
        elif node.right is self.nil:
            child = node.left
            self._replace_child(node, child)
        else:
            # The next greater node takes the place, colour and children of the deleted one, so what is missing
            # below is that node's own colour.
            heir = self._minimum(node.right)
            removed_color = heir.color
            child = heir.right
            if heir.parent is node:
                child.parent = heir
            else:
                self._replace_child(heir, child)
                heir.right = node.right
                heir.right.parent = heir
            self._replace_child(node, heir)
            heir.left = node.left
            heir.left.parent = heir
            heir.color = node.color
        self._size -= 1
        if removed_color == "black":
            self._repair_after_delete(child)

    def _repair_after_delete(self, node: RedBlackNode[V]) -> None:
        """Repair the paths through ``node``, which lack one black node: add one, or pass the deficit to the parent."""
        while node is not self.root and node.color == "black":
            node = self._repair_on_the_left(node) if node is node.parent.left else self._repair_on_the_right(node)
        node.color = "black"

    def _repair_on_the_left(self, node: RedBlackNode[V]) -> RedBlackNode[V]:
        """Run one round for a left child that lacks a black node. Return where to continue (the root: done)."""
        parent = node.parent
        sibling = parent.right
        if sibling.color == "red":  # make the sibling black without changing any count
            sibling.color, parent.color = "black", "red"
            self._rotate_left(parent)
            sibling = parent.right
        if sibling.left.color == "black" and sibling.right.color == "black":
            sibling.color = "red"  # now both sides lack one: the deficit is the parent's
            return parent
        if sibling.right.color == "black":  # the red nephew must be the outer one
            sibling.left.color, sibling.color = "black", "red"
            self._rotate_right(sibling)
            sibling = parent.right
        sibling.color, parent.color, sibling.right.color = parent.color, "black", "black"
        self._rotate_left(parent)
        return self.root

    def _repair_on_the_right(self, node: RedBlackNode[V]) -> RedBlackNode[V]:
        """Run the mirror image of :meth:`_repair_on_the_left`."""
        parent = node.parent
        sibling = parent.left
        if sibling.color == "red":
            sibling.color, parent.color = "black", "red"
            self._rotate_right(parent)
            sibling = parent.left
        if sibling.left.color == "black" and sibling.right.color == "black":
            sibling.color = "red"
            return parent
        if sibling.left.color == "black":
            sibling.right.color, sibling.color = "black", "red"
            self._rotate_left(sibling)
            sibling = parent.left
        sibling.color, parent.color, sibling.left.color = parent.color, "black", "black"
        self._rotate_right(parent)
        return self.root
