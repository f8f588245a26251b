"""Exploring by a function of one's own."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.ensemble import ExtraTreesRegressor

import egret


def near(x, prices):
    return 50 - abs(prices - x["worth"])


def test_it_explores_around_the_best_and_leaves_a_log(command, tmp_path):
    model = egret.FunctionModel(egret.Interval(5, 50), near, objective=egret.maximize(0, 50), log=tmp_path / "events")
    with model:
        for n in range(400):
            worth = 10 + 5 * (n % 7)
            decision = model.decide({"worth": worth})
            assert decision.density > 0
            model.learn(decision, 50 - abs(decision.action - worth))
    stats = json.loads(command("log", "stats", tmp_path / "events", "--json"))
    assert (stats["rows"], stats["next_event"]) == (400, 400)
    found = egret.audit(tmp_path / "events")
    assert not found.alarm, found
    # Uniform prices are 14 from the worth in the mean, and those played are to be nearer.
    blind = egret.evaluate(tmp_path / "events", "uniform", estimators=["snips"], intervals=["normal"]).table[0]
    assert abs(blind["estimate"] - 36) < 3 and 40 < blind["logged"]
    assert abs(model.best({"worth": 20}) - 20) < 0.5
    again = egret.FunctionModel(egret.Interval(5, 50), near, objective=egret.maximize(0, 50), log=tmp_path / "events")
    assert again.next_event == 400


@pytest.mark.parametrize(
    ("space", "shape"),
    [(egret.Items(np.eye(4)), ()), (egret.Box([(0, 1), (0, 1)]), (2,)), (egret.Steps(1, 9), ()), (egret.Subsets(9, 2), (2,))],
)
def test_actions_of_every_kind_come_as_arrays(space, shape):
    def predict(x, actions):
        assert isinstance(actions, np.ndarray) and actions.shape[1:] == shape
        return np.zeros(len(actions)) + 0.5

    decisions = egret.FunctionModel(space, predict).decide_batch([[1.0], [2.0]])
    assert len(decisions) == 2 and np.all(decisions.densities > 0)
    assert decisions.actions.shape[1:] == shape


def test_what_the_function_raises_is_raised():
    def fails(x, actions):
        raise KeyError("no such feature")

    with pytest.raises(KeyError, match="no such feature"):
        egret.FunctionModel(egret.Interval(0, 1), fails).decide([1.0])
    with pytest.raises(egret.EgretError, match="outcomes for"):
        egret.FunctionModel(egret.Interval(0, 1), lambda x, actions: [0.5]).decide([1.0])


def test_subsets_are_drawn_alike_and_favoured_ones_have_their_density():
    def sure(x, sets):
        return np.where(sets.min(axis=1) == 0, 1.0, 0.0)

    space, count = egret.Subsets(6, 3), 4_000
    drawn = egret.FunctionModel(space, lambda x, sets: np.full(len(sets), 0.5)).decide_batch(np.zeros((count, 1)))
    assert np.allclose(drawn.densities, 1, rtol=1e-9)
    sets, seen = np.unique(drawn.actions, axis=0, return_counts=True)
    assert len(sets) == 20 and np.all(np.diff(sets) > 0)
    # 19 degrees of freedom: above 62 with probability 2e-6.
    assert ((seen - count / 20) ** 2 / (count / 20)).sum() < 62
    # Half of all sets hold item 0: at tau = 4 and a large gamma they are all that is played, at density 2.
    favoured = egret.FunctionModel(space, sure, objective=egret.maximize(0, 1), tau=4, gamma=100)
    decisions = favoured.decide_batch(np.zeros((1_000, 1)))
    held = decisions.actions[:, 0] == 0
    assert 0.8 < held.mean() < 1
    # Inverse densities are unbiased: for each half of the sets they sum to its share. Of one they vary by 10% or less.
    assert abs((held / decisions.densities).mean() - 0.5) < 0.05
    assert 1.8 < np.median(decisions.densities[held]) < 2.1


def test_tau_is_refused_where_it_has_no_effect():
    with pytest.raises(egret.EgretError, match="no effect"):
        egret.FunctionModel(egret.Box([(0, 1)] * 6), lambda x, actions: np.zeros(len(actions)), tau=8)


def test_subsets_of_no_sense_are_refused():
    for count, size in [(3, 4), (3, 0)]:
        with pytest.raises(egret.EgretError, match="size|count"):
            egret.Subsets(count, size)


def test_a_reference_policy_of_ones_own_is_explored_around(tmp_path, command):
    """Prices around what a seller asks: the density is against these, so that a column says how others would play."""

    def asked(x, n, seed):
        return np.random.default_rng(seed).triangular(5, x["worth"], 50, n)

    options = {"reference": asked, "objective": egret.maximize(0, 50), "seed": 1, "log": tmp_path / "events"}
    with egret.FunctionModel(egret.Interval(5, 50), near, **options) as model:
        prices, weights = [], []
        for n in range(400):
            worth = 10 + 5 * (n % 7)
            decision = model.decide({"worth": worth})
            prices.append(decision.action)
            weights.append(1 / decision.density)
            model.learn(decision, 50 - abs(decision.action - worth))
        again = egret.FunctionModel(egret.Interval(5, 50), near, **{**options, "log": None})
        assert again.decide({"worth": 10}).action == prices[0]
    # The mean of a triangle, weighed back to the reference: 6 standard errors.
    means = [(5 + 50 + 10 + 5 * (n % 7)) / 3 for n in range(400)]
    differences = np.array(weights) * (np.array(prices) - means)
    assert abs(differences.mean()) < 6 * differences.std() / 20
    log = pandas.read_parquet(tmp_path / "events")
    assert "mu" not in log.columns
    log["q"] = 1.0  # the reference itself
    found = egret.evaluate(log, "column:q", objective=egret.maximize(0, 50), estimators=["snips"])
    expected = np.average(50 - np.abs(np.array(prices) - [10 + 5 * (n % 7) for n in range(400)]), weights=weights)
    assert np.isclose(found.table[0]["estimate"], expected)
    with pytest.raises(egret.EgretError, match="does not say its reference measure"):
        egret.evaluate(tmp_path / "events", f"best-of:m=4,model={TORCH / 'torch_revenue.onnx'}")


def test_a_reference_that_fails_is_told():
    for reference, error in [
        (lambda x, n, seed: [60.0] * n, "not in the action space"),
        (lambda x, n, seed: [10.0], "reference gave 1 actions"),
        (lambda x, n, seed: 1 / 0, "division by zero"),
    ]:
        model = egret.FunctionModel(egret.Interval(5, 50), near, reference=reference, objective=egret.maximize(0, 50))
        with pytest.raises((egret.EgretError, ZeroDivisionError), match=error):
            model.decide({"worth": 20})


TORCH = Path(__file__).parents[2] / "egret-onnx" / "tests" / "it"


def test_a_network_of_torch_explores_and_is_evaluated_as_an_onnx_file(tmp_path, command):
    """torch_revenue.onnx predicts revenue from two features and a price, and torch_price.onnx plays a price."""
    shop = egret.FunctionModel(
        *(egret.Interval(5, 50), TORCH / "torch_revenue.onnx"), objective=egret.maximize(0, 50), seed=7, log=tmp_path / "events"
    )
    customers = np.random.default_rng(1).random((600, 2))
    with shop:
        for customer in customers:
            decision = shop.decide(customer)
            shop.learn(decision, decision.action if decision.action < 10 + 25 * customer[0] + 5 * customer[1] else 0)
    # A customer who pays up to 32.5 is asked for somewhat less.
    assert 25 < shop.best([0.8, 0.5]) < 32.5
    with pytest.raises(egret.EgretError, match="the context has 3 features, expected 2"):
        shop.decide([1, 2, 3])
    with pytest.raises(egret.EgretError, match="have names"):
        shop.decide({"income": 1})
    best = f"best-of:m=8,model={TORCH / 'torch_revenue.onnx'}"
    played = f"kernel:model={TORCH / 'torch_price.onnx'},bandwidth=4"
    policies = {"blind": "uniform", "best": egret.best_of(TORCH / "torch_revenue.onnx", 8), "played": played}
    found = egret.evaluate(tmp_path / "events", policies, estimators=["snips"], intervals=["normal"])
    value = {row["policy"]: row["estimate"] for row in found.table}
    assert value["blind"] + 2 < value["best"] and value["blind"] + 2 < value["played"]
    there = command(
        *("ope", tmp_path / "events", "-p", "blind=uniform", "-p", f"best={best}", "-p", f"played={played}"),
        *("--estimators", "snips", "--intervals", "normal", "--json"),
    )
    assert found.table == json.loads(there)


def test_the_command_decides_by_an_onnx_file_as_python_does(tmp_path, command):
    customers = np.random.default_rng(2).random((20, 2))
    table = tmp_path / "customers.csv"
    table.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in customers.tolist()))
    network = tmp_path / "revenue.onnx"
    network.write_bytes((TORCH / "torch_revenue.onnx").read_bytes())
    told = ("--space", "interval:5,50", "--objective", "maximize:0,50", "--seed", 3, "--json")
    there = [json.loads(line) for line in command("decide", table, "--model", network, *told).splitlines()]
    shop = egret.FunctionModel(egret.Interval(5, 50), network, objective=egret.maximize(0, 50), seed=3)
    here = shop.decide_batch(customers)
    assert [row["action"] for row in there] == here.actions.tolist()
    assert [row["density"] for row in there] == here.densities.tolist()


def test_what_is_no_onnx_model_is_refused(tmp_path):
    with pytest.raises(egret.EgretError, match="torch_revenue.json"):
        egret.FunctionModel(egret.Interval(5, 50), TORCH / "torch_revenue.json")
    with pytest.raises(egret.EgretError, match="not of items:4"):
        egret.FunctionModel(egret.Items(np.eye(4)), str(TORCH / "torch_revenue.onnx"))


def test_a_forest_of_scikit_learn_explores_and_is_evaluated(tmp_path):
    def paid(income, price):
        return price * (price < 5 + 30 * income)

    income, price = np.random.default_rng(1).uniform((0, 5), (1, 50), (1_000, 2)).T
    forest = ExtraTreesRegressor(n_estimators=10, min_samples_leaf=5, random_state=0)
    forest.fit(np.column_stack([income, price]), paid(income, price))

    def predict(x, prices):
        return forest.predict(np.column_stack([np.full(len(prices), x["income"]), prices]))

    space, objective = egret.Interval(5, 50), egret.maximize(0, 50)
    with egret.FunctionModel(space, predict, objective=objective, tau=16, gamma=1_000, log=tmp_path / "events") as shop:
        for income in np.random.default_rng(2).random(300).tolist():
            decision = shop.decide({"income": income})
            shop.learn(decision, paid(income, decision.action))

    def mine(log):
        grid = np.linspace(6, 44, 20)
        asked = grid[np.argmax([predict({"income": row["income"]}, grid) for row in log["context"]], axis=1)]
        return log["action"].between(0.9 * asked, 1.1 * asked) * 45 / (0.2 * asked)

    log = pandas.read_parquet(tmp_path / "events")
    told = egret.evaluate(log, {"mine": mine, "any price": "uniform"}, space=space, objective=objective).table
    shown = {row["policy"]: row for row in told if row["estimator"] == "snips"}
    assert shown["any price"]["high"] < shown["mine"]["low"] and shown["any price"]["high"] < log["outcome"].mean(), shown
