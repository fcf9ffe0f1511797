"""What a module reaches: at its start, later, through packages; not what it needs for types."""

from __future__ import annotations

from engine.pipeline.reached_modules import reached_modules

FILES = {
    "shop/__init__.py": "from shop.opening import hours",
    "shop/opening.py": "hours = 8",
    "shop/till.py": """
from __future__ import annotations
import os, shop.money as money
from typing import TYPE_CHECKING
from shop.stock import shelf
from shop.names import NAME
if TYPE_CHECKING:
    from shop.customer import Customer
else:
    Customer = None
    from shop.stand_in import Stand
def sell():
    if money:
        from shop.receipt import (
            Receipt)
""",
    "shop/money.py": "import shop.till",
    "shop/names.py": "NAME = 'shop.customer'",
    "shop/stock/__init__.py": "",
    "shop/stock/shelf.py": "",
    "shop/stock/cellar.py": "import shop.customer",
    "shop/stand_in.py": "",
    "shop/receipt.py": "import shop.stock.paper.blank",
    "shop/stock/paper/__init__.py": "",
    "shop/stock/paper/blank.py": "",
    "shop/customer.py": "",
}


SOURCES = {name: text.encode() for name, text in FILES.items()}


def test_all_that_may_be_imported_is_reached_and_what_only_types_need_is_not():
    reached = reached_modules(["shop.till"], SOURCES, for_types=False)
    assert set(FILES) - reached == {"shop/customer.py", "shop/stock/cellar.py"}


def test_what_only_types_need_is_reached_where_it_is_wanted():
    assert set(FILES) - reached_modules(["shop.till"], SOURCES, for_types=True) == {"shop/stock/cellar.py"}


def test_a_module_that_imports_nothing_reaches_itself_and_its_package():
    only = {"shop/__init__.py": b"", "shop/names.py": b"", "shop/till.py": b""}
    assert reached_modules(["shop.names"], only, for_types=False) == {"shop/__init__.py", "shop/names.py"}
