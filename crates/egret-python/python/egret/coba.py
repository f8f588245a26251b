"""egret as a learner of coba, whose experiments compare learners on many problems.

    learner = egret.coba.Learner(egret.Interval(0, 1), egret.maximize(-1, 0))
    coba.Experiment(problems, [learner, *others]).run()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from egret._egret import Decision, Model, Objective, Space, maximize


class Learner:
    """A learner over an action space of egret, for problems whose actions are not listed.

    space
        Which actions there are: Interval(0, 1).
    objective
        What rewards are, by default from 0 to 1.
    options
        As those of Model.

    Densities are against the uniform one, so that 1 is a uniform choice.

    >>> import egret.coba
    >>> egret.coba.Learner(egret.Interval(0, 1)).params["space"]
    'interval:0,1'
    """

    def __init__(self, space: Space, objective: Objective | None = None, **options: Any) -> None:
        self._space = space
        self._options: dict[str, Any] = {"objective": objective or maximize(0, 1), **options}
        # Made with the first context: coba copies learners before they are used.
        self._model: Model | None = None

    @property
    def params(self) -> Mapping[str, Any]:
        """What coba's tables call it."""
        options = {name: str(value) for name, value in self._options.items()}
        return {"family": "egret", "space": str(self._space), **options}

    def predict(self, context: Any, actions: Any) -> tuple[dict[str, tuple[Any, float | None]], dict[str, Decision]]:
        """An action with its density, and the decision for learn."""
        if self._model is None:
            self._model = Model(self._space, **self._options)
        decision = self._model.decide(_features(context))
        return {"action_prob": (decision.action, decision.density)}, {"decision": decision}

    def score(self, context: Any, actions: Any, action: Any) -> float:
        """The density with which it would play an action: 1 is a uniform choice."""
        model = self._model
        if model is None:
            # It is not what plays: nothing of it belongs in a log.
            options = {name: value for name, value in self._options.items() if name != "log"}
            model = Model(self._space, **options)
            model.decide(_features(context))
        return model.density(_features(context), action)

    def learn(self, context: Any, action: Any, reward: float, probability: float | None, decision: Decision) -> None:
        """Learns from the reward of a decision."""
        assert self._model is not None, "predict comes first"
        self._model.learn(decision, reward)


def _features(context: Any) -> Mapping[str, Any] | Sequence[float]:
    """Contexts of coba are None, a value, a sequence of values, or a mapping."""
    if isinstance(context, Mapping) or hasattr(context, "items"):
        return {str(name): value for name, value in context.items()}
    if context is None:
        return [1.0]
    values = [context] if isinstance(context, (int, float, str)) else list(context)
    if any(isinstance(value, str) for value in values):
        return {str(place): value for place, value in enumerate(values)}
    return [float(value) for value in values]
