#!/usr/bin/env python3
"""How wide are intervals that hold at every event? egret's beside those of confseq and of VW's estimators, on the same rows.

Each cell has weights of one kind, losses of another and n events; losses do not depend on weights. Every package sees the
same rows at level 95%:

    egret B     `egret ope`, betting on ips, told the largest weight B
    egret       the same, told no bound
    hedged B    confseq.betting.hedged_cs on wl/B in [0, 1], its best for bounded numbers
    empbern B   confseq.predmix.predmix_empbern_twosided_cs on wl/B
    vw cs       estimators.bandits.cs of VW's estimators, which needs no bound
    normal      snips with a normal interval: narrower, and valid at one n alone

None is intersected with its earlier ones: that would hold only where the mean never moves.

What is printed: the mean width over the seeds, and in how many cells an anytime-valid peer is narrower than egret told as
much. `missed` counts logs whose interval lacks the true value, of those that hold at every event.

Needs numpy, scipy, vw-estimators and confseq, which is built from source: `apt install libboost-dev ninja-build`, then
`pip install "cmake<4" ninja scikit-build pybind11 setuptools_scm wheel` and `pip install --no-build-isolation confseq`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

if not hasattr(np, "float_"):
    np.float_ = np.float64  # which confseq still asks for

from confseq.betting import hedged_cs
from confseq.predmix import predmix_empbern_twosided_cs
from estimators.bandits import cs

ROOT = Path(__file__).resolve().parent.parent.parent
ALPHA = 0.05

# Weights with mean 1, and their bound.
WEIGHTS = {
    "constant": (1.0, lambda rng, n: np.ones(n)),
    "0 or 2": (2.0, lambda rng, n: 2.0 * (rng.random(n) < 0.5)),
    "0 or 10": (10.0, lambda rng, n: 10.0 * (rng.random(n) < 0.1)),
    # The log has density 1/2 + a, the policy is uniform.
    "1/(1/2 + a)": (2.0, lambda rng, n: 1.0 / np.sqrt(0.25 + 2.0 * rng.random(n))),
    # Uniform from a log that plays 98% on a sixteenth of all actions and 2% everywhere.
    "uniform, 2% floor": (50.0, lambda rng, n: 1.0 / np.where(rng.random(n) < 0.98 + 0.02 / 16, 0.98 * 16 + 0.02, 0.02)),
}
# Losses in [0, 1], and their mean.
LOSSES = {
    "0/1, mean .5": (0.5, lambda rng, n: (rng.random(n) < 0.5).astype(float)),
    "0/1, mean .1": (0.1, lambda rng, n: (rng.random(n) < 0.1).astype(float)),
    "0/1, mean .01": (0.01, lambda rng, n: (rng.random(n) < 0.01).astype(float)),
    "0/1, mean .95": (0.95, lambda rng, n: (rng.random(n) < 0.95).astype(float)),
    ".45 to .55": (0.5, lambda rng, n: 0.45 + 0.1 * rng.random(n)),
    "beta(2, 6)": (0.25, lambda rng, n: rng.beta(2.0, 6.0, n)),
}
NAMES = ["egret B", "egret", "hedged B", "empbern B", "vw cs", "normal"]
# Who is told as much as whom.
PEERS = {"egret B": ["hedged B", "empbern B", "vw cs"], "egret": ["vw cs"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--egret", default=ROOT / "target" / "release" / "egret", help="the binary")
    parser.add_argument("--events", type=int, nargs="+", default=[300, 3_000])
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print("| weights | losses | n | " + " | ".join(NAMES) + " |")
    print("|---|---|--:|" + "--:|" * len(NAMES))
    behind = {name: [] for name in PEERS}
    missed = dict.fromkeys(NAMES, 0)
    cells = 0
    for weights, (bound, draw_weights) in WEIGHTS.items():
        for losses, (mean, draw_losses) in LOSSES.items():
            for n in options.events:
                widths = {name: [] for name in NAMES}
                for seed in range(options.seeds):
                    rng = np.random.default_rng([seed, n])
                    w, loss = draw_weights(rng, n), draw_losses(rng, n)
                    for name, (low, high) in intervals(options.egret, w, loss, bound).items():
                        widths[name].append(high - low)
                        missed[name] += not low - 1e-12 <= mean <= high + 1e-12
                width = {name: float(np.mean(found)) for name, found in widths.items()}
                cells += 1
                for name, peers in PEERS.items():
                    first = min(peers, key=width.get)
                    if width[first] < width[name]:
                        behind[name].append(f"{weights}, {losses}, {n}: {width[name] / width[first]:.2f} of {first}")
                numbers = " | ".join(f"{width[name]:.4f}" for name in NAMES)
                print(f"| {weights} | {losses} | {n} | {numbers} |", flush=True)
    print(f"\n{cells} cells of {options.seeds} logs. Logs missed, of {cells * options.seeds}: {missed}")
    for name, found in behind.items():
        print(f"{name}: a peer is narrower in {len(found)} of {cells} cells")
        for line in found:
            print(f"    {line}")


def intervals(egret: Path, w: np.ndarray, loss: np.ndarray, bound: float) -> dict[str, tuple[float, float]]:
    found = {}
    rows = run_egret(egret, w, loss, ["--weight-bound", repr(bound)])
    found["egret B"] = rows["ips", "betting"]
    found["normal"] = rows["snips", "normal"]
    found["egret"] = run_egret(egret, w, loss, [])["ips", "betting"]
    x = w * loss / bound
    for name, sequence in {"hedged B": hedged_cs, "empbern B": predmix_empbern_twosided_cs}.items():
        low, high = sequence(x, alpha=ALPHA, running_intersection=False)
        found[name] = (max(0.0, bound * float(low[-1])), min(1.0, bound * float(high[-1])))
    interval = cs.Interval(0.0, 1.0)
    for weight, value in zip(w, loss):
        interval.add_example(1.0, value, weight)
    low, high = interval.get(ALPHA)
    found["vw cs"] = (max(0.0, low), min(1.0, high))
    return found


def run_egret(egret: Path, w: np.ndarray, loss: np.ndarray, flags: list[str]) -> dict:
    """The intervals of the policy whose weights these are, by estimator and kind."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log.csv")
        columns = np.column_stack([np.full(len(w), 0.5), np.ones(len(w)), w, loss])
        np.savetxt(path, columns, fmt="%.17g", delimiter=",", header="a,p,q,l", comments="")
        columns = ["--action", "a", "--density", "p", "--loss", "l", "--space", "interval:0,1"]
        command = [str(egret), "ope", path, *columns, "--policy", "column:q", "--json", *flags]
        run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    rows = json.loads(run.stdout)
    return {(row["estimator"], row["interval"]): (row["low"], row["high"]) for row in rows}


if __name__ == "__main__":
    main()
