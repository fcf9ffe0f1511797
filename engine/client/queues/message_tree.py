"""The actual red-black tree of a process queue, as nested JSON that the page draws."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from engine.client.foundation.red_black_tree import RedBlackNode, RedBlackTree
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import KEY_SEPARATOR, PROPERTY_KEYS

#: The maximum length of a message's key.
KEY_MAX = 100


class TreeNode(TypedDict):
    """A node of the tree."""

    #: Queue offset of its message.
    offset: int
    #: Key of its message.
    key: str
    #: Otherwise it is black.
    red: bool
    left: TreeNode | None
    right: TreeNode | None
    #: True where nodes below it are left out.
    cut: NotRequired[bool]


def message_tree(tree: RedBlackTree[MessageExt], most_nodes: int) -> TreeNode | None:
    """Return the root, or None for an empty tree.

    The lower levels of a tree with more than ``most_nodes`` nodes are left out.
    """
    levels = 64 if len(tree) <= most_nodes else max(1, (most_nodes + 1).bit_length() - 1)
    return _node(tree, tree.root, levels)


def _node(tree: RedBlackTree[MessageExt], node: RedBlackNode[MessageExt], levels: int) -> TreeNode | None:
    if node is tree.nil:
        return None
    view: TreeNode = {
        "offset": node.key,
        "key": node.value.properties.get(PROPERTY_KEYS, "").partition(KEY_SEPARATOR)[0][:KEY_MAX],
        "red": node.color == "red",
        "left": None,
        "right": None,
    }
    if levels > 1:
        view["left"] = _node(tree, node.left, levels - 1)
        view["right"] = _node(tree, node.right, levels - 1)
    elif node.left is not tree.nil or node.right is not tree.nil:
        view["cut"] = True
    return view
