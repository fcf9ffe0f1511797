"""The red-black tree that a process queue really holds, as nested JSON: the page draws these very nodes."""

from __future__ import annotations

from app.foundation.json_types import JsonObject
from app.lab.foundation.bounds import TREE_NODES_SHOWN
from engine.client.foundation.red_black_tree import RedBlackNode, RedBlackTree
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import KEY_SEPARATOR, PROPERTY_KEYS


def tree_view(tree: RedBlackTree[MessageExt]) -> JsonObject | None:
    """The root: ``{offset, key, red, left, right}``, or None for an empty tree.

    Of a tree of more than :data:`TREE_NODES_SHOWN` nodes the lower levels are left out: a node then has ``cut``, the
    number of levels above being what fits.
    """
    levels = 64 if len(tree) <= TREE_NODES_SHOWN else TREE_NODES_SHOWN.bit_length() - 1
    return _node_view(tree, tree.root, levels)


def _node_view(tree: RedBlackTree[MessageExt], node: RedBlackNode[MessageExt], levels: int) -> JsonObject | None:
    if node is tree.nil:
        return None
    view: JsonObject = {
        "offset": node.key,
        "key": node.value.properties.get(PROPERTY_KEYS, "").partition(KEY_SEPARATOR)[0],
        "red": node.color == "red",
        "left": None,
        "right": None,
    }
    if levels > 1:
        view["left"] = _node_view(tree, node.left, levels - 1)
        view["right"] = _node_view(tree, node.right, levels - 1)
    elif node.left is not tree.nil or node.right is not tree.nil:
        view["cut"] = True
    return view
