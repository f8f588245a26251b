"""My own model: a policy of scikit-learn, evaluated on a log that egret left.

The model is fitted to the first half of the log and judged on the second, which it has not seen.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from price_a_product import customers
from sklearn.ensemble import ExtraTreesRegressor  # type: ignore[import-untyped]

import egret

PRICES = egret.Interval(5, 50)
REVENUE = egret.maximize(0, 50)


def events(folder: Path, count: int) -> pd.DataFrame:
    """The log of a shop."""
    with egret.Model(PRICES, objective=REVENUE, effective_events=200, log=folder) as shop:
        for customer, worth in customers(count, seed=2):
            decision = shop.decide(customer)
            shop.learn(decision, decision.action if decision.action < worth else 0.0)
    return pd.concat([pd.read_parquet(file) for file in sorted(folder.glob("*.parquet"))], ignore_index=True)


def rows(log: pd.DataFrame, price: "pd.Series[float] | float") -> pd.DataFrame:
    """What the model sees: features, and a price."""
    features = pd.DataFrame(list(log["context"]))
    return pd.DataFrame({"income": features["income"], "returning": features["returning"].astype(float), "price": price})


class Priced:
    """Asks the price with the most predicted revenue, and 10% more or less at random, so that it can be evaluated."""

    def __init__(self, log: pd.DataFrame) -> None:
        self.revenue = ExtraTreesRegressor(n_estimators=30, min_samples_leaf=20, random_state=0)
        self.revenue.fit(rows(log, log["action"]), log["outcome"], sample_weight=np.minimum(1 / log["density"], 5))

    def price(self, log: pd.DataFrame) -> "pd.Series[float]":
        grid = np.linspace(6, 44, 20)
        predicted = np.column_stack([self.revenue.predict(rows(log, price)) for price in grid])
        return pd.Series(grid[predicted.argmax(axis=1)], index=log.index)

    def __call__(self, log: pd.DataFrame) -> "pd.Series[float]":
        price = self.price(log)
        near = log["action"].between(0.9 * price, 1.1 * price)
        return near * 45 / (0.2 * price)


def main(count: int = 6_000) -> egret.Evaluation:
    with tempfile.TemporaryDirectory() as folder:
        log = events(Path(folder) / "events", count)
    before, after = log.iloc[: count // 2], log.iloc[count // 2 :].reset_index(drop=True)
    policies = {"mine": Priced(before), "any price": "uniform"}
    found = egret.evaluate(after, policies, space=PRICES, objective=REVENUE, against="any price")
    print(found)
    return found


if __name__ == "__main__":
    main()
