"""Worlds of egret's lab in the style of Gymnasium, for any learner: the truth of each is known.

>>> from egret import worlds
>>> world = worlds.pricing(rounds=3)
>>> context, info = world.reset()
>>> context, reward, terminated, truncated, info = world.step(20.0)
>>> 0 <= reward <= 1 and 0 <= info["regret"]
True
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from egret._egret import Space, World, space_json

if TYPE_CHECKING:
    import gymnasium


class Environment:
    """One world: reset gives the first context, step takes an action and gives its reward and the next context.

    A reward is 1 less the loss, in [0, 1]. `info` has what a learner does not see: the mean of the reward, the best
    action, and the regret. Equal seeds give equal rounds.

    >>> world = egret.worlds.Environment("price", rounds=3)
    >>> context, info = world.reset()
    >>> context, reward, terminated, truncated, info = world.step(20.0)
    >>> 0 <= reward <= 1
    True
    """

    def __init__(self, name: str, rounds: int = 20_000, seed: int = 0) -> None:
        self._name, self._rounds = name, rounds
        self._world = World(name, rounds, seed)
        self._round = 0

    @property
    def space(self) -> Space:
        """Which actions there are, for egret.Model."""
        return self._world.space

    @property
    def about(self) -> str:
        """The mean loss in words and a formula."""
        return self._world.about

    @property
    def action_space(self) -> gymnasium.spaces.Box:
        """The actions as Gymnasium has them, where that is installed: one number."""
        from gymnasium.spaces import Box

        (ends,) = json.loads(space_json(str(self.space))).values()
        return Box(ends["low"], ends["high"], (1,), np.float64)

    @property
    def observation_space(self) -> gymnasium.spaces.Box:
        """The contexts as Gymnasium has them, where that is installed."""
        from gymnasium.spaces import Box

        return Box(-np.inf, np.inf, self._context().shape, np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Begins anew; with a seed, with other rounds. There are no options."""
        if seed is not None:
            self._world = World(self._name, self._rounds, seed)
        self._round = 0
        return self._context(), {}

    def step(self, action: float | ArrayLike) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Plays an action: (next context, reward, whether the world ended, False, info)."""
        played, world = self._round, self._world
        number = float(np.asarray(action, dtype=float).item())
        reward = 1 - world.loss(played, number)
        best = world.best_action(played)
        mean = 1 - world.mean_loss(played, number)
        info = {"mean": mean, "best_action": best, "regret": 1 - world.mean_loss(played, best) - mean}
        self._round += 1
        ended = self._round == len(world)
        if ended:
            self._round = 0
        return self._context(), reward, ended, False, info

    def close(self) -> None:
        """There is nothing to close."""

    def _context(self) -> NDArray[np.float64]:
        return np.array(self._world.context(self._round))

    def __repr__(self) -> str:
        return f"<egret.worlds.Environment {self._name}: {self.about}>"


def names() -> dict[str, str]:
    """All worlds, each with its mean loss in words and a formula.

    >>> "price" in egret.worlds.names()
    True
    """
    return dict(World.all())


def make(name: str, rounds: int = 20_000, seed: int = 0) -> Environment:
    """The world of this name.

    >>> egret.worlds.make("price", rounds=3).space.kind
    'number'
    """
    return Environment(name, rounds, seed)


def pricing(rounds: int = 20_000, seed: int = 0) -> Environment:
    """A shop that names a price from 5 to 50: a sale earns the price, as a share of 50, and no sale nothing.

    >>> egret.worlds.pricing(rounds=3).space
    <egret.Space interval:5,50>
    """
    return make("price", rounds, seed)
