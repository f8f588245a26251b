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
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d, validate_data  # type: ignore[import-untyped]

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

        if y is None:
            raise ValueError("fit requires y to be passed, but the target y is None: it has the actions that were played")
        X = self._contexts(X, reset=True)
        if self.space.kind in ("number", "item"):
            y = column_or_1d(check_array(y, ensure_2d=False, input_name="y"), warn=True)
        outcome = check_array(outcome, ensure_2d=False, input_name="outcome")
        density = check_array(np.ones(len(outcome)) if density is None else density, ensure_2d=False, input_name="density")
        check_consistent_length(X, y, outcome, density)
        named = hasattr(X, "to_dict")
        told = {
            "context": pyarrow.array(X.to_dict("records"))
            if named
            else pyarrow.FixedSizeListArray.from_arrays(X.ravel(), X.shape[1]),
            "action": pyarrow.array(y.tolist() if isinstance(y, np.ndarray) else list(y)),
            "density": density.astype(float),
            "loss" if self.objective is None else "outcome": outcome.astype(float),
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
        check_is_fitted(self)
        best: NDArray[Any] = self.model_.best_batch(self._contexts(X, reset=False))
        return best

    def _contexts(self, X: Any, reset: bool) -> Any:
        """Checked as scikit-learn's own estimators check them; where columns have names, cells may be text, or missing."""
        if hasattr(X, "to_dict") and all(isinstance(name, str) for name in X.columns):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, dtype=float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # score compares with the actions that were played, which need not be good ones.
        tags.regressor_tags.poor_score = True
        return tags
