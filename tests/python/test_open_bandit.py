"""The small Open Bandit log that obp carries, as it is: items at three positions of a shop's page, clicks, propensities.

Two policies played at the same time, at random and Bernoulli Thompson sampling. So what one log says of the other policy can be
held against what that policy really got, and against obp's own classes.
"""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from command import SCRATCH, egret
from test_estimators import TOLERANCE, import_obp

ITEMS, POSITIONS = 80, 3
# Columns by name, with no change to the file: propensities are probabilities of items, and the position is a feature.
COLUMNS = [
    *("--action", "item_id", "--density", "propensity_score", "--density-per-unit"),
    *("--reward", "click", "--reward-range", "0,1", "--space", f"items:{ITEMS}"),
    *("--context", "position,user_feature_0,user_feature_1,user_feature_2,user_feature_3", "--time", "timestamp"),
]


def package() -> Path:
    """The folder of obp."""
    [folder] = importlib.util.find_spec("obp").submodule_search_locations
    return Path(folder)


def log_of(policy: str) -> Path:
    return package() / "dataset" / "obd" / policy / "all" / "all.csv"


def thompson() -> np.ndarray:
    """The chance that Thompson sampling shows each item at each position, from the prior it began with."""
    text = (package() / "policy" / "conf" / "prior_bts.yaml").read_text()
    # The campaign on all items is the first: a list alpha, then a list beta.
    numbers = [float(number) for number in re.findall(r"- ([\d.]+)", text.split("men:")[0])]
    alpha, beta = np.reshape(numbers, (2, ITEMS))
    rng = np.random.default_rng(1)
    best = np.argsort(-rng.beta(alpha, beta, (100_000, ITEMS)), axis=1)[:, :POSITIONS]
    return np.stack([np.bincount(best[:, place], minlength=ITEMS) for place in range(POSITIONS)], axis=1) / len(best)


def evaluated(log: Path, policy: str) -> dict[tuple[str, str], dict]:
    rows = json.loads(egret("ope", log, *COLUMNS, "--policy", policy, "--json"))
    return {(row["estimator"], row["interval"]): row for row in rows}


def compare(rows: dict, log: pd.DataFrame, action_dist: np.ndarray) -> None:
    """obp's own classes on the same rows."""
    obp = import_obp()
    data = {
        "reward": log["click"].to_numpy(),
        "action": log["item_id"].to_numpy(),
        "position": log["position"].to_numpy() - 1,
        "pscore": log["propensity_score"].to_numpy(),
        "action_dist": np.tile(action_dist, (len(log), 1, 1)),
    }
    theirs = [
        ("ips", obp.InverseProbabilityWeighting()),
        ("snips", obp.SelfNormalizedInverseProbabilityWeighting()),
    ]
    for name, estimator in theirs:
        value = float(np.mean(estimator._estimate_round_rewards(**data)))
        found = rows[name, "normal"]["estimate"]
        assert abs(found - value) < TOLERANCE, f"{name}: egret {found}, obp {value}"


def test_random_to_thompson_sampling() -> None:
    log, q = pd.read_csv(log_of("random"), index_col=0), thompson()
    log["q"] = q[log["item_id"], log["position"] - 1]
    with_q = SCRATCH / "random.csv"
    log.to_csv(with_q)
    rows = evaluated(with_q, "column:q")
    compare(rows, log, q)
    got = pd.read_csv(log_of("bts"))["click"].mean()
    for kind in [("snips", "normal"), ("ips", "betting")]:
        assert rows[kind]["low"] < got < rows[kind]["high"], (rows[kind], got)
    print(f"random to Thompson sampling: {rows['snips', 'normal']['estimate']:.4f}, it got {got:.4f}")


def test_thompson_sampling_to_random() -> None:
    log = pd.read_csv(log_of("bts"), index_col=0)
    rows = evaluated(log_of("bts"), "uniform")
    compare(rows, log, np.full((ITEMS, POSITIONS), 1.0 / ITEMS))
    got = pd.read_csv(log_of("random"))["click"].mean()
    assert rows["ips", "betting"]["low"] < got < rows["ips", "betting"]["high"], (rows, got)
    # Of 10,000 rows 42 have a click, and some weights are in the hundreds: nobody should rely on the normal interval.
    assert "reliable" != rows["snips", "normal"]["verdict"], rows
    print(f"Thompson sampling to random: {rows['snips', 'normal']['estimate']:.4f}, it got {got:.4f}")


def test_columns_are_guessed() -> None:
    log = SCRATCH / "bts.csv"
    shutil.copy(log_of("bts"), log)
    egret("log", "init", log)
    guessed = (SCRATCH / "bts.csv.toml").read_text().splitlines()
    for line in [
        *('action = "item_id"', 'space = "items:80"', 'density = "propensity_score"', "density_per_unit = true"),
        *('reward = "click"', 'time = "timestamp"'),
    ]:
        assert line in guessed, (line, guessed)
