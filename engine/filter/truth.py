"""Three-valued logic: true, false, and unknown because of missing properties (RocketMQ: ``LogicExpression``,
``UnaryExpression.createNOT``).

A message matches only if its expression is *true*: unknown has the effect of false, but NOT of unknown is not true.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: A truth value; None is unknown.
Truth = bool | None

AND: Mapping[tuple[Truth, Truth], Truth] = MappingProxyType(
    {
        (True, True): True,
        (True, False): False,
        (True, None): None,
        (False, True): False,
        (False, False): False,
        (False, None): False,
        (None, True): None,
        (None, False): False,
        (None, None): None,
    }
)

OR: Mapping[tuple[Truth, Truth], Truth] = MappingProxyType(
    {
        (True, True): True,
        (True, False): True,
        (True, None): True,
        (False, True): True,
        (False, False): False,
        (False, None): None,
        (None, True): True,
        (None, False): None,
        (None, None): None,
    }
)

NOT: Mapping[Truth, Truth] = MappingProxyType({True: False, False: True, None: None})
