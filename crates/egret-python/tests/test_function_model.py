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
