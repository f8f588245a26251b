"""Compares `egret ope` with numpy and obp's formulas on the same rows, to 1e-9.

Run with the path of the binary in the environment variable EGRET. Needs numpy, pyarrow and obp (Open Bandit Pipeline), whose own
classes are run too.
"""

import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 20_011
LEVEL = 0.9
Z = 1.6448536269514729  # the 95% quantile of a standard normal
BOUND = 6.0
TOLERANCE = 1e-9


def make_log(seed: int) -> dict[str, np.ndarray]:
    """Rows with the columns that estimators need; weights are below BOUND and have mean 1."""
    rng = np.random.default_rng(seed)
    # Drawn with the density ½ + a: its distribution function is (a + a²)/2.
    action = (np.sqrt(1.0 + 8.0 * rng.random(ROWS)) - 1.0) / 2.0
    density = 0.5 + action
    # The density of the policy evaluated: 2(1 − a), so that q/p ≤ 4.
    q = 2.0 * (1.0 - action)
    kind = rng.random(ROWS)
    mean = 0.2 + 0.5 * kind * action
    return {
        "loss": (rng.random(ROWS) < mean).astype(float) * (0.5 + 0.5 * rng.random(ROWS)),
        "density": density,
        "q": q,
        "fhat": 0.1 + 0.4 * kind * action,
        # E_q f̂ with E_q a = 1/3.
        "q_fhat": 0.1 + 0.4 * kind / 3.0,
        "tau": np.full(ROWS, 8.0),
        "gamma": 10.0 + np.arange(ROWS) / 50.0,
    }


def ope(egret: str, log: Path, *arguments: str) -> list[dict]:
    """The rows of `egret ope --json`."""
    command = [egret, "ope", str(log), "--json", "--level", str(LEVEL), *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def by_formula(name: str, log: dict[str, np.ndarray], h: np.ndarray) -> tuple[float, float]:
    """Estimate and standard error, from what each event adds (its influence)."""
    w = log["q"] / log["density"]
    loss, fhat, q_fhat = log["loss"], log["fhat"], log["q_fhat"]
    n = len(w)

    def mean(terms):
        value = np.sum(h * terms) / np.sum(h)
        return value, h * (terms - value) / np.sum(h)

    if name == "ips":
        value, influence = mean(w * loss)
    elif name == "clipped-ips:2":
        value, influence = mean(np.minimum(w, 2.0) * loss)
    elif name == "dm":
        value, influence = mean(q_fhat)
    elif name == "dr":
        value, influence = mean(q_fhat + w * (loss - fhat))
    elif name == "switch:2":
        value, influence = mean(q_fhat + w * (loss - fhat) * (w <= 2.0))
    elif name == "drs:4":
        value, influence = mean(q_fhat + 4.0 * w / (w**2 + 4.0) * (loss - fhat))
    elif name == "snips":
        value = np.sum(h * w * loss) / np.sum(h * w)
        influence = h * w * (loss - value) / np.sum(h * w)
    elif name == "sndr":
        base = np.sum(h * q_fhat) / np.sum(h)
        rest = np.sum(h * w * (loss - fhat)) / np.sum(h * w)
        value = base + rest
        influence = h * (q_fhat - base) / np.sum(h)
        influence = influence + h * w * (loss - fhat - rest) / np.sum(h * w)
    else:
        raise ValueError(name)
    return float(value), float(np.sqrt(np.sum(influence**2) * n / (n - 1)))


NAMES = ["ips", "snips", "clipped-ips:2", "switch:2", "dm", "dr", "sndr", "drs:4"]


def log_prior(share: float, around: float, width: float) -> np.ndarray:
    """What is put on each θ = 2⁻²⁴ … 2⁷, in logarithms: a part of it around one θ, the rest broadly around 2⁻⁴."""
    log_theta = np.arange(32) - 24.0
    near = np.exp(-0.5 * ((log_theta - around) / width) ** 2)
    away = log_theta + 4.0
    broad = np.exp(-0.5 * (away / np.where(away < 0.0, 3.0, 4.5)) ** 2) + 0.003
    return np.log(share * near / near.sum() + (1.0 - share) * broad / broad.sum())


def betting_bound(parts: list[tuple[float, float, np.ndarray, np.ndarray]], alpha: float) -> float:
    """The lower bound on a mean, by bisection on the wealth of a mixture of bets.

    Each part has a share of the wealth, k, what it puts on each bet, and numbers x ≥ 0 whose mean is k more than the one bounded.
    """
    theta = 2.0 ** (np.arange(32) - 24)
    all_shares = sum(share for share, *_ in parts)
    sums = [np.array([np.sum(np.log1p(t * x)) for t in theta]) for *_, x in parts]

    def refuted(v):
        logs = np.concatenate([
            math.log(share / all_shares) + prior + total - len(x) * np.log1p(theta * (v + k))
            for (share, k, prior, x), total in zip(parts, sums)
        ])
        most = logs.max()
        return most + math.log(np.exp(logs - most).sum()) >= -math.log(alpha)

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def unbounded(w: np.ndarray, loss: np.ndarray) -> list:
    """What is bet on where no bound on the weights is known: wℓ."""
    return [(1.0, 0.0, log_prior(0.3, 1.0, 2.0), w * loss)]


def bounded(w: np.ndarray, loss: np.ndarray) -> list:
    """What is bet on with w ≤ BOUND: wℓ, and w(ℓ − c) + cB."""
    log_bound = math.log2(BOUND)
    parts = [(1.0, 0.0, log_prior(0.75, -0.5 - log_bound, 2.0), w * loss)]
    low = [0.03125, 0.0625, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75]
    high = [0.875, 0.9375, 0.96875]
    near_all = log_prior(0.75, 0.6 - log_bound, 0.75)
    kinds = [(3.5, low, log_prior(0.3, 1.0, 2.0)), (4.5, high, near_all), (1.0, [1.0], near_all)]
    for share, centers, prior in kinds:
        for c in centers:
            x = np.maximum(w * (loss - c) + c * BOUND, 0.0)
            parts.append((share / len(centers), c * (BOUND - 1.0), prior, x))
    return parts


def close(found: float, expected: float, what: str) -> None:
    assert abs(found - expected) < TOLERANCE, f"{what}: egret {found!r}, here {expected!r}"


def asymptotic_errors(alpha: float) -> float:
    """Half the width of an asymptotic confidence sequence, in standard errors (Waudby-Smith et al. 2021)."""
    log_alpha = -2.0 * math.log(alpha)
    rho_squared = (log_alpha + math.log(log_alpha + 1.0)) / 1_000.0
    time = ROWS * rho_squared + 1.0
    return math.sqrt(2.0 * time / (ROWS * rho_squared) * math.log(math.sqrt(time) / alpha))


def import_obp():
    """Imports its estimators, which are plain numpy. Stubs replace the gigabytes that the package would import."""

    class Anything(types.ModuleType):
        def __getattr__(self, name: str) -> type:
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    for name in ["torch", "sklearn", "sklearn.utils"]:
        sys.modules.setdefault(name, Anything(name))
    import obp

    # The folder without its __init__, which imports the rest of the package.
    folder = types.ModuleType("obp.ope")
    folder.__path__ = [str(Path(obp.__file__).parent / "ope")]
    sys.modules["obp.ope"] = folder
    return importlib.import_module("obp.ope.estimators")


def compare_with_obp(log: dict[str, np.ndarray], estimates: dict[str, float]) -> None:
    """obp's own classes: two actions, of which the first was always played."""
    obp = import_obp()
    # obp wants probabilities: both densities are scaled alike, which leaves weights as they are.
    scale = 0.1
    q = scale * log["q"]
    action_dist = np.stack([q, 1.0 - q], axis=1)[:, :, np.newaxis]
    other = (log["q_fhat"] - q * log["fhat"]) / (1.0 - q)
    predicted = np.stack([log["fhat"], other], axis=1)[:, :, np.newaxis]
    data = {
        "reward": log["loss"],
        "action": np.zeros(ROWS, dtype=int),
        "pscore": scale * log["density"],
        "position": np.zeros(ROWS, dtype=int),
        "action_dist": action_dist,
        "estimated_rewards_by_reg_model": predicted,
    }
    for name, estimator in {
        "ips": obp.InverseProbabilityWeighting(),
        "snips": obp.SelfNormalizedInverseProbabilityWeighting(),
        "dm": obp.DirectMethod(),
        "dr": obp.DoublyRobust(),
        "sndr": obp.SelfNormalizedDoublyRobust(),
        "switch:2": obp.SwitchDoublyRobust(tau=2.0),
        "drs:4": obp.DoublyRobustWithShrinkage(lambda_=4.0),
    }.items():
        rewards = estimator._estimate_round_rewards(**data)
        close(estimates[name], float(np.mean(rewards)), f"obp's {name}")


def test_estimators() -> None:
    egret = os.environ["EGRET"]
    log = make_log(1)
    alone = ["--policy", "column:q"]
    policy = ["--policy", "column:q,predicted=q_fhat", "--predicted", "fhat"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        # Small row groups: sums must not depend on them.
        pq.write_table(pa.table(log), path, row_group_size=3_000)

        asymptotic = asymptotic_errors(1.0 - LEVEL)
        for stabilize in (False, True):
            h = log["tau"] / (log["tau"] + log["gamma"]) if stabilize else np.ones(ROWS)
            extra = ["--stabilize"] if stabilize else []
            rows = ope(egret, path, *policy, "--estimators", ",".join(NAMES), "--intervals", "normal,asymptotic", *extra)
            assert len(rows) == 2 * len(NAMES)
            for row, name in zip(rows, [name for name in NAMES for _ in range(2)]):
                value, error = by_formula(name, log, h)
                errors = Z if row["interval"] == "normal" else asymptotic
                assert row["estimator"] == name, row
                close(row["estimate"], value, name)
                close(row["low"], value - errors * error, f"{name}, {row['interval']}, lower end")
                close(row["high"], value + errors * error, f"{name}, {row['interval']}, upper end")
                w = h * log["q"] / log["density"]
                close(row["ess"] / ROWS, np.sum(w) ** 2 / np.sum(w**2) / ROWS, "ess")
                close(row["mean_weight"], np.sum(w) / np.sum(h), "mean weight")
            if not stabilize:
                compare_with_obp(log, {row["estimator"]: row["estimate"] for row in rows})

        w, loss = log["q"] / log["density"], log["loss"]
        alpha = 1.0 - LEVEL
        [row] = ope(egret, path, *alone, "--estimators", "ips", "--intervals", "betting")
        close(row["low"], betting_bound(unbounded(w, loss), alpha / 2), "betting, lower end")
        close(row["high"], 1.0 - betting_bound(unbounded(w, 1.0 - loss), alpha / 2), "betting, upper end")

        bound = ["--weight-bound", str(BOUND)]
        [row] = ope(egret, path, *alone, "--estimators", "ips", "--intervals", "betting", *bound)
        close(row["low"], betting_bound(bounded(w, loss), alpha / 2), "betting with a bound, lower end")
        close(row["high"], 1.0 - betting_bound(bounded(w, 1.0 - loss), alpha / 2), "betting with a bound, upper end")

        [row] = ope(egret, path, *alone, "--estimators", "ips", "--intervals", "empirical-bernstein", *bound)
        terms = w * loss
        log_term = math.log(4.0 / alpha)
        margin = math.sqrt(2.0 * np.var(terms, ddof=1) * log_term / ROWS)
        margin += 7.0 * BOUND * log_term / (3.0 * (ROWS - 1))
        close(row["low"], np.mean(terms) - margin, "empirical Bernstein, lower end")
        close(row["high"], np.mean(terms) + margin, "empirical Bernstein, upper end")

        # A bootstrap cannot be compared row by row; of a ratio it must be as wide as the delta method says.
        rows = ope(egret, path, *policy, "--estimators", "ips,snips,sndr", "--intervals", "bootstrap")
        for row in rows:
            _, error = by_formula(row["estimator"], log, np.ones(ROWS))
            ratio = (row["high"] - row["low"]) / (2.0 * Z * error)
            # The width of 200 replicates has a standard error of 6%.
            assert 0.75 < ratio < 1.25, (row, ratio)
    print(f"8 estimators and 4 intervals within {TOLERANCE}, 7 of obp's own classes too")


if __name__ == "__main__":
    test_estimators()
