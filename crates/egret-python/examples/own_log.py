"""My own log: a table of pandas in, currency out.

The table holds what a shop did last year: who came, at which price, with which density the price was drawn, and the
revenue. No price was drawn by egret.
"""

import numpy as np
import pandas as pd

import egret

PRICES = egret.Interval(5, 50)
REVENUE = egret.maximize(0, 50)


def last_year(count: int, seed: int = 3) -> pd.DataFrame:
    """Prices were uniform, but for every second customer, who was offered at most 27.50."""
    chance = np.random.default_rng(seed)
    income = chance.lognormal(10.5, 0.5, count)
    cheap = chance.random(count) < 0.5
    price = np.where(cheap, chance.uniform(5, 27.5, count), chance.uniform(5, 50, count))
    worth = 8 + income / 2_500 + chance.normal(0, 3, count)
    # A density is against the uniform one: 2 on the lower half for those who could get nothing else.
    density = np.where(price <= 27.5, 0.5 * 2 + 0.5 * 1, 0.5)
    revenue = np.where(price < worth, price, 0.0)
    contexts = [{"income": value} for value in income]
    return pd.DataFrame({"context": contexts, "action": price, "density": density, "outcome": revenue})


def rule(log: pd.DataFrame) -> "pd.Series[float]":
    """A policy to evaluate: prices from 10 to 30, all alike. On that range its density is 45/20, elsewhere 0."""
    return log["action"].between(10, 30) * (45 / 20)


def main(count: int = 20_000) -> None:
    log = last_year(count)
    policies = {"rule": rule, "any price": "uniform"}
    found = egret.evaluate(log, policies, space=PRICES, objective=REVENUE, against="any price")
    print(found)
    print(found.to_frame()[["policy", "estimator", "interval", "estimate", "low", "high"]])
    trained = egret.train(log, space=PRICES, objective=REVENUE, epochs=5)
    print(trained)
    for income in (20_000, 80_000):
        print(f"an income of {income}: the best price is {trained.model.best({'income': income}):.2f}")


if __name__ == "__main__":
    main()
