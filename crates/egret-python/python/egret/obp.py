"""Logs from and to the `bandit_feedback` of obp (Open Bandit Pipeline), whose actions are items.

    log = egret.obp.to_log(feedback)
    egret.evaluate(log, {"mine": lambda log: egret.obp.densities(feedback, action_dist)})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from egret import _egret

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]


def to_log(feedback: Mapping[str, Any], *, rewards: tuple[float, float] = (0.0, 1.0)) -> pyarrow.Table:
    """The log of a bandit_feedback: a density is n_actions times the propensity. rewards is the range of rewards.

    >>> import egret.obp
    >>> log = egret.obp.to_log({"n_actions": 2, "context": [[0.5]], "action": [1], "pscore": [0.25], "reward": [1.0]})
    >>> log["density"].to_pylist()
    [0.5]
    """
    import pyarrow

    contexts = np.asarray(feedback["context"], dtype=float)
    columns = {
        "context": pyarrow.FixedSizeListArray.from_arrays(contexts.ravel(), contexts.shape[1]),
        "action": pyarrow.array(np.asarray(feedback["action"]), type=pyarrow.uint32()),
        "density": np.asarray(feedback["pscore"], dtype=float) * feedback["n_actions"],
        "outcome": np.asarray(feedback["reward"], dtype=float),
    }
    told = {
        "egret.mu": _egret.space_json(f"items:{feedback['n_actions']}"),
        "egret.objective": _egret.objective_json(str(_egret.maximize(*rewards))),
    }
    return pyarrow.table(columns, metadata=told)


def densities(feedback: Mapping[str, Any], action_dist: Any) -> NDArray[np.float64]:
    """The densities of the logged actions under obp's action_dist (rounds × actions × positions), for evaluate.

    Each is that of the position where the action was played; feedback without positions has one.

    >>> import egret.obp
    >>> egret.obp.densities({"n_actions": 2, "action": [1]}, [[[0.1], [0.9]]]).tolist()
    [1.8]
    """
    dist = np.asarray(action_dist, dtype=float)
    dist = dist if dist.ndim == 3 else dist[:, :, np.newaxis]
    rounds = np.arange(len(dist))
    position = feedback.get("position")
    position = np.zeros(len(dist), dtype=int) if position is None else np.asarray(position)
    found: NDArray[np.float64] = dist[rounds, np.asarray(feedback["action"]), position] * feedback["n_actions"]
    return found


def to_feedback(log: Any, n_actions: int) -> dict[str, Any]:
    """The bandit_feedback of a log over items, with numbers as contexts and an outcome in each row: a table, or a Parquet file.

    >>> import egret.obp
    >>> log = egret.obp.to_log({"n_actions": 2, "context": [[0.5]], "action": [1], "pscore": [0.25], "reward": [1.0]})
    >>> egret.obp.to_feedback(log, 2)["pscore"].tolist()
    [0.25]
    """
    import pyarrow
    import pyarrow.parquet  # type: ignore[import-untyped]

    table = pyarrow.table(log) if hasattr(log, "__arrow_c_stream__") else pyarrow.parquet.read_table(log)
    told = table.select(["context", "action", "density", "outcome"]).to_pydict()
    return {
        "n_rounds": table.num_rows,
        "n_actions": n_actions,
        "context": np.array(told["context"], dtype=float),
        "action": np.array(told["action"], dtype=int),
        "position": None,
        "reward": np.array(told["outcome"], dtype=float),
        "pscore": np.array(told["density"], dtype=float) / n_actions,
    }
