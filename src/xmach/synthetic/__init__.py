"""A synthetic product search: products with titles, and queries with what was bought after them."""

from xmach.synthetic.rows import purchase_rows
from xmach.synthetic.settings import ShopSettings
from xmach.synthetic.shop import Period, Product, Query, Shop
from xmach.synthetic.statistics import ShopStatistics

__all__ = ["Period", "Product", "Query", "Shop", "ShopSettings", "ShopStatistics", "purchase_rows"]
