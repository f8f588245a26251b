#!/usr/bin/env python3
"""egret from Python beside Vowpal Wabbit's CATS from Python: the same rounds, mean loss and time per event.

Needs both packages: `pip install . vowpalwabbit==9.11.9 pandas pyarrow` in an environment of your own.

A round has the numbers x, and the action a in [0, 1] costs |a - y|. The rounds are simulated, or those of data sets: with
--data, each .parquet file of a folder is one, its last column the label, scaled to [0, 1], and its categories one
column for each value. Each side is timed from the numbers of a round to the end of its learning; for CATS this is formatting
and parsing text, predict and learn. Event by event, and in batches of 1,000, where outcomes come after each batch.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import egret

Rounds = tuple[np.ndarray, np.ndarray]
#: (leaves, bandwidth, other flags): the one with the least loss is compared with.
CATS = [(8, 1 / 8, "--coin"), (16, 1 / 16, "--coin"), (16, 2 / 16, "--coin"), (32, 2 / 32, "--coin")]


def simulated(count: int, seed: int) -> Rounds:
    chance = np.random.default_rng(seed)
    weights = chance.uniform(-1, 1, 10)
    x = chance.random((count, 10))
    return x, 1 / (1 + np.exp(-4 * (x - 0.5) @ weights))


def data_set(file: Path, count: int, seed: int) -> Rounds:
    import pandas

    frame = pandas.read_parquet(file).dropna().sample(frac=1, random_state=seed).head(count)
    label = frame.iloc[:, -1]
    y = label.cat.codes if isinstance(label.dtype, pandas.CategoricalDtype) else pandas.to_numeric(label)
    x = pandas.get_dummies(frame.iloc[:, :-1], dtype=float).to_numpy(float)
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
    y = y.to_numpy(float)
    return x, (y - y.min()) / max(y.max() - y.min(), 1e-12)


def egret_one_by_one(x: np.ndarray, y: np.ndarray) -> float:
    model = egret.Model(egret.Interval(0, 1), x.shape[1])
    total = 0.0
    for context, label in zip(x, y):
        decision = model.decide(context)
        loss = abs(decision.action - label)
        model.learn(decision, loss)
        total += loss
    return total / len(y)


def egret_batches(x: np.ndarray, y: np.ndarray, size: int = 1_000) -> float:
    model = egret.Model(egret.Interval(0, 1), x.shape[1])
    total = 0.0
    for start in range(0, len(y), size):
        decisions = model.decide_batch(x[start : start + size])
        losses = np.abs(decisions.actions - y[start : start + size])
        model.learn_batch(decisions, losses)
        total += losses.sum()
    return float(total / len(y))


def cats(setting: tuple[int, float, str], size: int) -> Callable[[np.ndarray, np.ndarray], float]:
    leaves, bandwidth, more = setting

    def run(x: np.ndarray, y: np.ndarray) -> float:
        from vowpalwabbit import Workspace

        space = "--min_value 0 --max_value 1"
        flags = f"--cats {leaves} --bandwidth {bandwidth} {space} --epsilon 0.05 --quiet --random_seed 1 {more}"
        workspace = Workspace(flags)
        total = 0.0
        for start in range(0, len(y), size):
            learned = []
            for context, label in zip(x[start : start + size].tolist(), y[start : start + size].tolist()):
                features = "| " + " ".join(f"{name}:{value:.6g}" for name, value in enumerate(context))
                action, density = workspace.predict(features)
                loss = abs(action - label)
                learned.append(f"ca {action}:{loss}:{density} {features}")
                total += loss
            for line in learned:
                workspace.learn(line)
        workspace.finish()
        return total / len(y)

    return run


def timed(run: Callable[[np.ndarray, np.ndarray], float], rounds: Rounds) -> tuple[float, float]:
    """The mean loss, and microseconds per event."""
    start = time.perf_counter()
    loss = run(*rounds)
    return loss, (time.perf_counter() - start) / len(rounds[1]) * 1e6


def problems(options: argparse.Namespace) -> Iterator[tuple[str, Rounds]]:
    if options.data is None:
        yield "simulated", simulated(options.events, options.seed)
        return
    for file in sorted(options.data.glob("*.parquet")):
        if not options.only or any(word in file.name for word in options.only):
            yield file.stem, data_set(file, options.events, options.seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000, help="rounds of each problem (default 20000)")
    parser.add_argument("--seed", type=int, default=1, help="of the rounds (default 1)")
    parser.add_argument("--data", type=Path, help="a folder of .parquet files")
    parser.add_argument("--only", nargs="*", default=[], help="only files whose names have one of these words")
    options = parser.parse_args()
    ratios: dict[str, list[float]] = {"one by one": [], "batches": []}
    ahead = 0
    print(f"{'problem':<40} {'how':<10} {'egret':>16} {'CATS':>16}  time ratio")
    for name, rounds in problems(options):
        for how, ours, size in (("one by one", egret_one_by_one, 1), ("batches", egret_batches, 1_000)):
            loss, micros = timed(ours, rounds)
            peer_loss, peer_micros = min(timed(cats(setting, size), rounds) for setting in CATS)
            ratios[how].append(micros / peer_micros)
            ahead += loss < peer_loss
            cells = f"{loss:.4f} {micros:>6.1f} µs", f"{peer_loss:.4f} {peer_micros:>6.1f} µs"
            print(f"{name:<40} {how:<10} {cells[0]:>16} {cells[1]:>16}  {micros / peer_micros:.2f}", flush=True)
    for how, values in ratios.items():
        print(f"{how}: egret takes {statistics.median(values):.2f} of CATS's time in the median, at most {max(values):.2f}")
    print(f"egret loses less in {ahead} of {2 * len(ratios['batches'])} comparisons")


if __name__ == "__main__":
    main()
