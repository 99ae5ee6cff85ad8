"""A synthetic product search: products with titles, and queries with their purchases."""

from xmach.synthetic.block import Period, Query, QueryBlock, purchase_rows
from xmach.synthetic.settings import ShopSettings
from xmach.synthetic.shop import Product, Shop
from xmach.synthetic.statistics import ShopStatistics, ShopTally

__all__ = [
    "Period",
    "Product",
    "Query",
    "QueryBlock",
    "Shop",
    "ShopSettings",
    "ShopStatistics",
    "ShopTally",
    "purchase_rows",
]
