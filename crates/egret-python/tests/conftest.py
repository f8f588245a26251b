"""What the tests share. EGRET is the path of the command: `cargo xtask test package` sets it."""

import os
import subprocess
from collections.abc import Callable

import pytest

import egret


@pytest.fixture
def command() -> Callable[..., str]:
    """Runs the command egret and gives what it prints."""
    program = os.environ.get("EGRET")
    assert program, "EGRET is not set: run `cargo xtask test package`"

    def run(*arguments: object) -> str:
        words = [program, *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
        return done.stdout

    return run


def customers(count: int) -> list[dict[str, object]]:
    """Customers with features of every kind, some of them missing."""
    return [
        {
            "income": None if n % 11 == 0 else 20_000 + 10_000 * (n % 7),
            "country": ["NZ", "AU", "FJ"][n % 3],
            "returning": n % 2 == 0,
        }
        for n in range(count)
    ]


def revenue(n: int, price: float) -> float:
    """What customer n pays."""
    return price if price < 18 + 4 * (n % 7) else 0.0


def shop(count: int, **options: object) -> egret.Model:
    """A model that has sold to so many customers."""
    schema = egret.Schema({"income": "number", "country": ["NZ", "AU", "FJ"], "returning": "flag"})
    options = {"objective": egret.maximize(0, 50), "seed": 7, **options}
    model = egret.Model(egret.Interval(5, 50), schema, **options)
    for n, customer in enumerate(customers(count)):
        decision = model.decide(customer)
        model.learn(decision, revenue(n, decision.action))
    return model
