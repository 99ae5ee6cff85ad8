"""What is counted of a shop, against counting in Python; and memory that does not grow."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import numpy as np
import pytest

from xmach.synthetic import Query, Shop, ShopSettings, ShopStatistics, ShopTally
from xmach.synthetic import tally as tallies

N = 2000


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop(N, seed=4, settings=ShopSettings(chunk_rows=1000))


@pytest.fixture(scope="module")
def train(shop: Shop) -> list[Query]:
    return list(chain.from_iterable(shop.queries(4000)))


def test_the_figures_are_those_of_the_queries(shop: Shop, train: list[Query]) -> None:
    ours = ShopStatistics.of(shop.blocks(4000), N)
    pairs = [product for query in train for product in query.products]
    assert ours.queries == len(train) == 4000
    assert ours.different_texts == len({query.text for query in train}) / 4000 < 1
    assert ours.bought_products == len(set(pairs)) / N
    assert ours.purchases_per_query == len(pairs) / 4000
    assert ours.queries_per_product == len(pairs) / len(set(pairs))
    assert ours.purchases_per_pair == sum(sum(query.purchases) for query in train) / len(pairs)
    assert ours.sessions_per_query == sum(query.sessions for query in train) / 4000
    assert ours.words_per_query == sum(len(query.text.split()) for query in train) / 4000
    bought: Counter[int] = Counter()
    for query in train:
        bought.update(dict(zip(query.products, query.purchases, strict=True)))
    top = sum(count for _, count in bought.most_common(N // 100))
    assert ours.purchases_of_top_products == pytest.approx(top / sum(bought.values()))


def test_what_is_new_in_the_test_period(shop: Shop, train: list[Query]) -> None:
    before = ShopTally(N)
    for block in shop.blocks(4000):
        before.add(block)
    after = ShopTally(N, before)
    later = []
    for block in shop.blocks(900, "test"):
        after.add(block)
        later += block.queries()
    known = {query.text for query in train}
    bought = set(chain.from_iterable(query.products for query in train))
    pairs = [product for query in later for product in query.products]
    figures = after.statistics()
    assert figures.texts_known == np.mean([query.text in known for query in later]) > 0
    assert figures.purchases_of_new_products == pytest.approx(np.mean([each not in bought for each in pairs]))
    assert figures.seen_per_query == np.mean([len(query.seen) for query in later])
    assert "texts known" in figures.table("test")
    assert "texts known" not in before.statistics().table()


def test_samples_estimate_what_they_leave_out(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ShopStatistics.of(shop.blocks(4000), N)
    monkeypatch.setattr(tallies, "_TEXTS", 1024)
    monkeypatch.setattr(tallies, "_PRODUCTS", 1000)
    sampled = ShopStatistics.of(shop.blocks(4000), N)
    assert sampled.different_texts == pytest.approx(whole.different_texts, rel=0.1)
    assert sampled.different_texts != whole.different_texts
    assert sampled.bought_products == whole.bought_products
    assert sampled.purchases_of_top_products == pytest.approx(whole.purchases_of_top_products, rel=0.3)
    assert sampled.sessions_of_top_queries == pytest.approx(whole.sessions_of_top_queries, rel=0.5)
