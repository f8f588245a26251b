"""Price a product: simulate, learn, evaluate, deploy.

A shop sees who comes, names a price, and is told whether it sold. What each customer would pay it never learns.
"""

import random
import sys
import tempfile
from pathlib import Path

import egret


def customers(count: int, seed: int) -> list[tuple[dict[str, object], float]]:
    """What the shop knows of each customer, and what it does not: how much the customer would pay."""
    chance = random.Random(seed)
    found: list[tuple[dict[str, object], float]] = []
    for _ in range(count):
        income, returning = chance.lognormvariate(10.5, 0.5), chance.random() < 0.4
        worth = 8 + income / 2_500 + (4 if returning else 0) + chance.gauss(0, 3)
        found.append(({"income": income, "returning": returning, "country": chance.choice(["NZ", "AU"])}, worth))
    return found


def main(folder: Path, count: int = 5_000) -> None:
    # Learn, and keep the log.
    shop = egret.Model(egret.Interval(5, 50), objective=egret.maximize(0, 50), log=folder / "events")
    earned = []
    for customer, worth in customers(count, seed=1):
        decision = shop.decide(customer)
        revenue = decision.action if decision.action < worth else 0.0
        shop.learn(decision, revenue)
        earned.append(revenue)
    shop.close()
    fifth = count // 5
    print(f"revenue per customer: {sum(earned[:fifth]) / fifth:.2f} at first, {sum(earned[-fifth:]) / fifth:.2f} at last")

    # What would other policies have earned? The model was learned from the same log, so it is judged on the last part,
    # by one that was trained without it.
    trained = egret.train(folder / "events", split=(0.5, 0.1, 0.4))
    policies = {"any price": "uniform", "the best of 16": egret.best_of(trained.model, 16)}
    print(egret.evaluate(folder / "events", policies, model=trained.model, from_seq=6 * count // 10, against="any price"))

    # Deploy: save, load elsewhere, decide.
    shop.save(folder / "shop.egret")
    served = egret.Model.load(folder / "shop.egret")
    for income in (20_000, 40_000, 80_000):
        customer = {"income": income, "returning": True, "country": "NZ"}
        print(f"an income of {income}: the best price is {served.best(customer):.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch))
