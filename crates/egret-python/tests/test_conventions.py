"""egret among others' conventions: coba, scikit-learn."""

import coba
import numpy as np
import pandas
import pytest
from coba.primitives import L1Reward, SimulatedInteraction
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import egret
import egret.coba
import egret.obp
import egret.sklearn


def test_a_learner_of_coba_plays_a_real_experiment():
    chance = np.random.default_rng(1)
    x = chance.random((2_000, 2))

    class Regression:
        """Any number is an action, and its reward is -|action - label|."""

        params = {"env_type": "regression"}

        def read(self):
            for row in x.tolist():
                yield SimulatedInteraction(row, [], L1Reward(sum(row) / 2))

    problems = coba.Environments(Regression())
    objective = egret.maximize(-1, 0)
    learners = [egret.coba.Learner(egret.Interval(0, 1), objective, seed=seed) for seed in (1, 2)]
    result = coba.Experiment(problems, learners).run(quiet=True)
    played = result.interactions.to_pandas()
    assert len(played) == 4_000
    for _, one in played.groupby("learner_id"):
        first, last = one["reward"].head(200).mean(), one["reward"].tail(500).mean()
        assert first < last and -0.1 < last, (first, last)
    assert set(result.learners.to_pandas()["family"]) == {"egret"}


def test_contexts_of_coba_of_every_kind_are_taken():
    for context in [None, 3, "NZ", (1, "NZ"), {"a": 1, "b": "x"}]:
        learner = egret.coba.Learner(egret.Interval(0, 1))
        prediction, more = learner.predict(context, None)
        action, density = prediction["action_prob"]
        assert 0 <= action <= 1 and 0 < density
        learner.learn(context, action, 0.5, density, **more)


def test_a_learner_of_coba_scores_what_was_played_by_others():
    """coba asks for the score of logged actions, and evaluates by them without playing."""
    learner = egret.coba.Learner(egret.Interval(0, 1), egret.maximize(-1, 0), seed=3)
    # coba asks so whether there is a score: nothing is to come of it.
    assert coba.safety.SafeLearner(learner).has_score
    assert learner.score((0.5, 1.0), None, 0.5) > 0
    chance = np.random.default_rng(6)
    for x in chance.random((1_500, 2)).tolist():
        prediction, more = learner.predict(x, None)
        action, density = prediction["action_prob"]
        learner.learn(x, action, -abs(action - x[0]), density, **more)
    x = [0.3, 0.6]
    scores = [learner.score(x, None, action) for action in (np.arange(10_000) + 0.5) / 10_000]
    # A density: one in the mean, and larger around the best.
    assert abs(np.mean(scores) - 1) < 0.01
    assert np.mean(scores[2_000:4_000]) > 2 > 0.5 > np.mean(scores[8_000:])


def past(count: int):
    chance = np.random.default_rng(3)
    x, action = chance.random((count, 2)), chance.random(count)
    return x, action, 1 - np.abs(action - x[:, 0])


def test_an_estimator_of_scikit_learn_learns_the_best_actions():
    x, action, outcome = past(4_000)
    estimator = egret.sklearn.PolicyRegressor(egret.Interval(0, 1), egret.maximize(0, 1), epochs=3)
    estimator.fit(x, action, outcome=outcome)
    error = np.abs(estimator.predict(x[:200]) - x[:200, 0]).mean()
    assert error < 0.1, error
    again = clone(estimator)
    assert not hasattr(again, "model_") and again.get_params()["epochs"] == 3
    again.set_params(epochs=1, oracle="ridge").fit(pandas.DataFrame(x, columns=["a", "b"]), action, outcome=outcome)
    assert again.predict(pandas.DataFrame(x[:3], columns=["a", "b"])).shape == (3,)
    pipeline = make_pipeline(StandardScaler(), clone(again))
    pipeline.fit(x, action, policyregressor__outcome=outcome)
    assert pipeline.predict(x[:5]).shape == (5,)


class Judged(egret.sklearn.PolicyRegressor):
    """scikit-learn's checks give no outcomes: here an action loses the more, the further it is from 0."""

    def fit(self, X, y):
        played = None if y is None else np.asarray(y, dtype=float)
        return super().fit(X, y, outcome=None if played is None else np.tanh(np.abs(np.nan_to_num(played.ravel()))))


@pytest.mark.filterwarnings("ignore")
def test_the_estimator_passes_the_checks_of_scikit_learn():
    checks = check_estimator(Judged(egret.Interval(-1_000, 1_000), oracle="ridge"), on_fail=None)
    assert len(checks) > 40
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []


def test_an_estimator_tells_what_is_wrong():
    x, action, outcome = past(100)
    estimator = egret.sklearn.PolicyRegressor(egret.Interval(0, 1), egret.maximize(0, 1), oracle="ridge")
    with pytest.raises(NotFittedError):
        estimator.predict(x)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(x, action, outcome=outcome[:50])
    with pytest.raises(ValueError, match="outcome contains NaN"):
        estimator.fit(x, action, outcome=np.full(100, np.nan))
    estimator.fit(x, action, outcome=outcome)
    with pytest.raises(ValueError, match="2 features"):
        estimator.predict(x[:, :1])


def test_feedback_of_obp_is_a_log_and_comes_back(tmp_path):
    chance = np.random.default_rng(4)
    count, actions = 5_000, 5
    propensities = chance.dirichlet(np.ones(actions), count)
    action = np.array([chance.choice(actions, p=row) for row in propensities])
    feedback = {
        "n_rounds": count,
        "n_actions": actions,
        "context": chance.random((count, 3)),
        "action": action,
        "position": None,
        "reward": chance.binomial(1, 0.2 + 0.1 * action),
        "pscore": propensities[np.arange(count), action],
    }
    policy = chance.dirichlet(np.ones(actions), count)
    log = egret.obp.to_log(feedback)
    found = egret.evaluate(log, {"it": lambda _: egret.obp.densities(feedback, policy[:, :, None])}, estimators=["ips"])
    # obp's InverseProbabilityWeighting.
    weights = policy[np.arange(count), action] / feedback["pscore"]
    assert np.isclose(found.table[0]["estimate"], np.mean(weights * feedback["reward"]), rtol=1e-12)

    position = chance.integers(0, 2, count)
    by_position = np.stack([policy, np.roll(policy, 1, axis=1)], axis=2)
    found = egret.obp.densities({**feedback, "position": position}, by_position)
    assert np.array_equal(found, by_position[np.arange(count), action, position] * actions)

    with egret.LogWriter(tmp_path / "log.parquet", egret.Items(np.eye(actions)), objective=egret.maximize(0, 1)) as writer:
        for row in range(100):
            density = feedback["pscore"][row] * actions
            writer.write(feedback["context"][row], action=action[row], density=density, outcome=feedback["reward"][row])
    for source in (tmp_path / "log.parquet", log.slice(0, 100)):
        again = egret.obp.to_feedback(source, actions)
        for name in ("context", "action", "reward", "pscore"):
            assert np.allclose(again[name], feedback[name][:100], rtol=1e-15), name
