#!/usr/bin/env python3
"""egret from Python beside its peers from Python, in one process, one after the other in turn.

Needs them all: `pip install . vowpalwabbit==9.11.9 pandas pyarrow scikit-learn` and `pip install --no-deps obp==0.4.1` in an
environment of your own. What obp asks for beside takes gigabytes, and its estimators are plain numpy.

1. `decide` and `learn` beside Vowpal Wabbit's CATS: the same rounds, mean loss and time per event.
2. `evaluate` beside obp: the same arrays, a million rows, IPS and SNIPS with 95% intervals.
3. What a call of `decide` takes beyond the decision.

A round has the numbers x, and the action a in [0, 1] costs |a - y|. The rounds are simulated, or those of data sets: with
--data, each .parquet file of a folder is one, its last column the label, scaled to [0, 1], and its categories one
column for each value. Each side is timed from the numbers of a round to the end of its learning; for CATS this is formatting
and parsing text, predict and learn. Event by event, and in batches of 1,000, where outcomes come after each batch. CATS plays
the best of four settings in hindsight. Both are run in turn, so that other work on the machine meets both; a ratio is the
median over the turns. Time is on the clock, and of the processor beside.
"""

import argparse
import importlib
import os
import statistics
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import egret
import egret.obp

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


Run = Callable[[np.ndarray, np.ndarray], float]


def timed(run: Callable[[], object]) -> tuple[object, float, float]:
    """What it gives, and how many seconds it takes on the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    given = run()
    return given, time.perf_counter() - clock, time.process_time() - processor


def ratios_in_turn(ours: Callable[[], object], theirs: Callable[[], object], turns: int) -> list[tuple[float, float, float]]:
    """Of each turn our seconds, theirs, and the ratio of processor time."""
    found = []
    for _ in range(turns):
        _, our_clock, our_processor = timed(ours)
        _, their_clock, their_processor = timed(theirs)
        found.append((our_clock, their_clock, our_processor / their_processor))
    return found


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def loop(options: argparse.Namespace) -> None:
    """Part 1."""
    medians: dict[str, list[tuple[float, float]]] = {"one by one": [], "batches": []}
    ahead = 0
    print(f"{'problem':<36} {'how':<10} {'egret':>17} {'CATS':>17}  ratio of time, and of the processor's")
    for name, (x, y) in problems(options):
        for how, ours, size in (("one by one", egret_one_by_one, 1), ("batches", egret_batches, 1_000)):
            best = min((cats(setting, size) for setting in CATS), key=lambda run: run(x, y))
            loss, peer_loss = ours(x, y), best(x, y)
            turns = ratios_in_turn(lambda: ours(x, y), lambda: best(x, y), options.turns)
            micros, peer_micros = (statistics.median(turn[who] for turn in turns) / len(y) * 1e6 for who in (0, 1))
            ratio = statistics.median(turn[0] / turn[1] for turn in turns)
            processor = statistics.median(turn[2] for turn in turns)
            medians[how].append((ratio, processor))
            ahead += loss < peer_loss
            cells = f"{loss:.4f} {micros:>7.1f} µs", f"{peer_loss:.4f} {peer_micros:>7.1f} µs"
            print(f"{name:<36} {how:<10} {cells[0]:>17} {cells[1]:>17}  {ratio:.2f} {processor:.2f}", flush=True)
    for how, values in medians.items():
        clock, processor = spread([value[0] for value in values]), spread([value[1] for value in values])
        print(f"{how}: egret takes {clock} of CATS's time, {processor} of its processor time")
    print(f"egret loses less in {ahead} of {2 * len(medians['batches'])} comparisons")


def import_obp() -> types.ModuleType:
    """Its estimators; stubs replace torch, and the folder's own imports."""
    torch = types.ModuleType("torch")
    torch.__getattr__ = lambda name: type(name, (), {})  # type: ignore[method-assign]
    sys.modules.setdefault("torch", torch)
    import obp

    folder = types.ModuleType("obp.ope")
    folder.__path__ = [str(Path(obp.__file__).parent / "ope")]
    sys.modules["obp.ope"] = folder
    return importlib.import_module("obp.ope.estimators")


def evaluation(options: argparse.Namespace) -> None:
    """Part 2: ten actions, as obp has them."""
    estimators = import_obp()
    chance, count, actions = np.random.default_rng(options.seed), options.rows, 10
    logged, other = chance.dirichlet(np.ones(actions), count), chance.dirichlet(np.ones(actions), count)
    action = (logged.cumsum(axis=1) > chance.random((count, 1))).argmax(axis=1)
    feedback = {
        "n_rounds": count,
        "n_actions": actions,
        "context": chance.random((count, 5)),
        "action": action,
        "position": np.zeros(count, int),
        "reward": chance.binomial(1, 0.2 + 0.05 * action),
        "pscore": logged[np.arange(count), action],
    }
    given = {name: feedback[name] for name in ("reward", "action", "pscore", "position")}
    given["action_dist"] = other[:, :, None]
    classes = {
        "ips": estimators.InverseProbabilityWeighting,
        "snips": estimators.SelfNormalizedInverseProbabilityWeighting,
    }

    def theirs() -> dict[str, float]:
        return {name: float(kind().estimate_policy_value(**given)) for name, kind in classes.items()}

    def with_intervals() -> None:
        # As many replicates as its OffPolicyEvaluation has by default.
        for kind in classes.values():
            kind().estimate_interval(n_bootstrap_samples=100, random_state=1, **given)

    def ours(intervals: tuple[str, ...] = ("normal", "betting")) -> dict[str, float]:
        log = egret.obp.to_log(feedback)
        policy = {"other": lambda log: egret.obp.densities(feedback, other)}
        rows = egret.evaluate(log, policy, estimators=list(classes), intervals=intervals).table
        return {row["estimator"]: row["estimate"] for row in rows if row["interval"] == "normal"}

    gaps = [abs(value - theirs()[name]) for name, value in ours().items()]
    print(f"{count:,} rows: IPS and SNIPS equal those of obp to {max(gaps):.0e}")
    for what, run, peer in (
        ("with intervals", ours, lambda: (theirs(), with_intervals())),
        ("estimates of obp alone", lambda: ours(("normal",)), theirs),
    ):
        turns = ratios_in_turn(run, peer, options.turns)
        seconds = [statistics.median(turn[who] for turn in turns) for who in (0, 1)]
        faster = spread([turn[1] / turn[0] for turn in turns])
        print(f"{what}: egret {seconds[0]:.2f} s, obp {seconds[1]:.2f} s, {faster} times as fast", flush=True)


def overhead(options: argparse.Namespace) -> None:
    """Part 3: decisions one by one and all in one call, on one thread, of the processor's time."""
    for width in (10, 100):
        x = np.random.default_rng(options.seed).normal(size=(5_000, width))
        model = egret.Model(egret.Interval(0, 1), width)
        model.decide(x[0])
        for name, contexts in (("arrays", list(x)), ("lists", x.tolist())):
            extra = []
            for _ in range(5 * options.turns):
                _, _, alone = timed(lambda: [model.decide(context) for context in contexts])
                _, _, together = timed(lambda: model.decide_batch(x))
                extra.append((alone - together) / len(x) * 1e6)
            print(f"a call of decide, {name} of {width} numbers: {spread(extra)} µs beyond the decision, {alone / len(x) * 1e6:.1f} µs")


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
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the log that is evaluated (default 1000000)")
    parser.add_argument("--turns", type=int, default=3, help="how often each is timed (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the rounds (default 1)")
    parser.add_argument("--data", type=Path, help="a folder of .parquet files")
    parser.add_argument("--only", nargs="*", default=[], help="only files whose names have one of these words")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="which parts (default all)")
    options = parser.parse_args()
    # Rust's threads are as many as at the first batch: one by one is on one thread.
    if options.parts == ["overhead"]:
        os.environ.setdefault("RAYON_NUM_THREADS", "1")
    for part in options.parts:
        PARTS[part](options)
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)


PARTS = {"loop": loop, "evaluate": evaluation, "overhead": overhead}


if __name__ == "__main__":
    main()
