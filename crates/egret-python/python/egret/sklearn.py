"""egret as an estimator of scikit-learn: from the log of past decisions to a policy, with clone, pipelines and searches.

>>> import egret.sklearn
>>> past = egret.sklearn.PolicyRegressor(egret.Interval(0, 1))
>>> past.fit([[0.0], [1.0]] * 50, [0.1, 0.9] * 50, outcome=[0.0, 0.1] * 50).predict([[0.0]]).shape
(1,)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin  # type: ignore[import-untyped]

from egret._egret import Model, Objective, Space
from egret._jobs import train


class PolicyRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Learns from past decisions, and predicts the best action for a context.

    space, objective
        Which actions there are, and what outcomes are: by default losses in [0, 1].
    oracle, method, epochs, seed
        As those of egret.train.

    After fit, model_ is the model and report_ how the training went.

    >>> import egret.sklearn
    >>> egret.sklearn.PolicyRegressor(egret.Interval(0, 1), epochs=3).get_params()["epochs"]
    3
    """

    def __init__(
        self,
        space: Space,
        objective: Objective | None = None,
        oracle: str = "default",
        method: str = "ips",
        epochs: int | None = None,
        seed: int = 0,
    ) -> None:
        self.space = space
        self.objective = objective
        self.oracle = oracle
        self.method = method
        self.epochs = epochs
        self.seed = seed

    def fit(self, X: Any, y: Any, *, outcome: Any, density: Any = None) -> PolicyRegressor:
        """X are the contexts: an array, or a frame with named columns. y are the actions that were played, outcome is what came of
        them, and density how likely they were, against the uniform density: by default uniform."""
        import pyarrow  # type: ignore[import-untyped]

        rows = X.to_dict("records") if hasattr(X, "to_dict") else np.asarray(X, dtype=float).tolist()
        told = {
            "context": pyarrow.array(rows),
            "action": pyarrow.array(np.asarray(y).tolist()),
            "density": np.ones(len(rows)) if density is None else np.asarray(density, dtype=float),
            "loss" if self.objective is None else "outcome": np.asarray(outcome, dtype=float),
        }
        self.report_ = train(
            pyarrow.table(told),
            space=self.space,
            objective=self.objective,
            oracle=self.oracle,
            method=self.method,
            epochs=self.epochs,
            seed=self.seed,
        )
        self.model_: Model = self.report_.model
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The action with the best predicted outcome for each context."""
        best: NDArray[Any] = self.model_.best_batch(X)
        return best
