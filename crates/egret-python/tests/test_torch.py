"""Models of PyTorch. `cargo xtask test package` runs this with a Python that has it, and with the numpy beside it."""

import re
from pathlib import Path

import notebook
import numpy as np
import torch

import egret

SHOWN = """
assert 2 * any_price < earned[-1], earned
assert 1.1 * at_each.max() < earned[-1], (earned, at_each.max())

# The log knows the truth of policies that were not played.
people = list(customers(20_000, seed=99))
table, worths = pl.DataFrame([customer for customer, _ in people]), np.array([worth for _, worth in people])
chance = np.random.default_rng(1)
asked_of = {"my network": asked(table), "one price": fixed_price}
prices = {name: price * chance.uniform(0.9, 1.1, len(table)) for name, price in asked_of.items()}
prices["any price"] = chance.uniform(5, 50, len(table))
shown = {row["policy"]: row for row in found.table if row["interval"] == "betting"}
for name, price in prices.items():
    truth = (price * (price < worths)).mean()
    assert shown[name]["low"] < truth < shown[name]["high"], (name, truth, shown[name])
assert shown["my network − any price"]["low"] > 0, shown
"""


def test_the_notebook(tmp_path):
    notebook.run("own_model", SHOWN, tmp_path)


def test_the_lines_of_the_guide():
    guide = Path(__file__).parents[3] / "docs" / "python.md"
    programs = re.findall(r"```python torch\n(.*?)```", guide.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(programs) == 1
    known = {"egret": egret}
    exec(compile(programs[0], guide.name, "exec"), known)
    assert 5 <= known["decision"].action <= 50 and 0 < known["decision"].density


def test_arrays_lie_where_tensors_do():
    tensor = torch.rand((100, 4), dtype=torch.float64)
    expected = egret.Model(egret.Interval(0, 1), 4).decide_batch(tensor.tolist())
    for given in (tensor.numpy(), tensor.t().contiguous().t().numpy(), tensor):
        decided = egret.Model(egret.Interval(0, 1), 4).decide_batch(given)
        assert [one.to_dict() for one in decided] == [one.to_dict() for one in expected]
    assert torch.from_numpy(expected.actions).dtype == torch.float64
    assert np.array_equal(torch.from_numpy(expected.densities).numpy(), expected.densities)
