"""Exploring by a function of one's own."""

import json

import numpy as np
import pytest

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
    ("space", "shape"), [(egret.Items(np.eye(4)), ()), (egret.Box([(0, 1), (0, 1)]), (2,)), (egret.Steps(1, 9), ())]
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
