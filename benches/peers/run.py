#!/usr/bin/env python3
"""egret beside Vowpal Wabbit's CATS: the same stream, one thread, mean loss and time per decision.

The stream is a problem that both can learn: ten features x, uniform on [0, 1], and a target
y = 1 / (1 + exp(-4 * sum w_i (x_i - 1/2))), w uniform on [-1, 1]. Action a in [0, 1] costs |a - y|.
Each repetition has a stream of its own, which both sides see in the same order.

Vowpal Wabbit runs through its Python package. What is compared is predict + learn on examples
that are parsed already; the time to parse them from text is shown beside it, and so is the time
per event of its own C++ driver when it learns its log again, text parsing included.

egret runs as the example `online_setting`, which reads the stream as a CSV file (x0..x9,y), leaves
the warm-up out of its figures, and prints a JSON object per line: {"learner", "loss",
"microseconds"}, where microseconds are the mean of decision + learning. Its learners are the
default, and the paper's with each normalizer.
"""

import argparse
import csv
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FEATURES = 10

# K leaves, bandwidth h, exploration epsilon, other flags. The first is what ratios are taken against;
# the best in hindsight is named, and ratios are taken against it too.
CATS = [
    (32, 0.05, 0.05, ""),
    (4, 0.125, 0.05, ""),
    (8, 0.125, 0.05, ""),
    (16, 0.0625, 0.05, ""),
    (16, 0.125, 0.05, ""),
    (32, 0.125, 0.05, ""),
    (64, 0.05, 0.05, ""),
    (4, 0.125, 0.2, ""),
    (8, 0.125, 0.2, ""),
    (16, 0.125, 0.2, ""),
    (4, 0.125, 0.2, "-l 0.05"),
    (8, 0.125, 0.05, "--coin"),
    (8, 0.125, 0.05, "--sgd -l 0.1"),
    (8, 0.125, 0.2, "--sgd -l 0.1"),
]


def main() -> None:
    options = parse_arguments()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    if "vw" in options.only:
        ensure_vowpal_wabbit(target / "peers-venv")
    online_setting = build_egret(target) if "egret" in options.only else None

    rows: dict[str, list[dict]] = {}
    references = []
    with tempfile.TemporaryDirectory() as folder:
        for repetition in range(options.repetitions):
            seed = options.seed + repetition
            stream = make_stream(seed, options.warm + options.measured)
            references.append(reference_losses(stream[options.warm :]))
            if online_setting:
                say(f"repetition {repetition + 1} of {options.repetitions}: egret")
                path = Path(folder) / f"stream-{seed}.csv"
                write_stream(path, stream)
                for row in run_egret(online_setting, path, options.warm):
                    rows.setdefault(row["name"], []).append(row)
            if "vw" in options.only:
                for setting in CATS:
                    arguments = cats_arguments(setting, seed)
                    say(f"repetition {repetition + 1} of {options.repetitions}: {cats_name(setting)}")
                    log = Path(folder) / "log.vw"
                    row = run_cats(arguments, stream, options.warm, log)
                    row["name"] = cats_name(setting)
                    rows.setdefault(row["name"], []).append(row)

    report = {
        "machine": machine(),
        "settings": {
            "warm": options.warm,
            "measured": options.measured,
            "repetitions": options.repetitions,
            "first_seed": options.seed,
            "features": FEATURES,
        },
        "loss_of": mean_of(references),
        "results": [summary(name, each) for name, each in rows.items()],
    }
    report["comparisons"] = comparisons(report["results"])
    if options.json:
        print(json.dumps(report, indent=2))
    else:
        print_report(report)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=positive, default=5, help="streams (default 5)")
    parser.add_argument("--warm", type=positive, default=4_000, help="decisions before measuring (default 4000)")
    parser.add_argument("--measured", type=positive, default=20_000, help="decisions measured (default 20000)")
    parser.add_argument("--seed", type=int, default=1, help="of the first stream (default 1)")
    parser.add_argument("--only", choices=["egret", "vw"], nargs=1, default=["egret", "vw"], help="run one side alone")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser.parse_args()


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# The stream


def make_stream(seed: int, length: int) -> list[tuple[list[float], float]]:
    generator = random.Random(seed)
    weights = [generator.uniform(-1.0, 1.0) for _ in range(FEATURES)]
    stream = []
    for _ in range(length):
        # Six decimals: what is written as text is what both sides see.
        x = [round(generator.random(), 6) for _ in range(FEATURES)]
        score = 4.0 * sum(w * (value - 0.5) for w, value in zip(weights, x))
        stream.append((x, 1.0 / (1.0 + math.exp(-score))))
    return stream


def write_stream(path: Path, stream: list[tuple[list[float], float]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"x{index}" for index in range(FEATURES)] + ["y"])
        writer.writerows([*x, y] for x, y in stream)


def reference_losses(stream: list[tuple[list[float], float]]) -> dict[str, float]:
    """Losses to compare with; both policies ignore the context."""
    targets = [y for _, y in stream]
    best = statistics.median(targets)
    return {
        "uniform": statistics.fmean((y * y + (1.0 - y) * (1.0 - y)) / 2.0 for y in targets),
        "best_constant": statistics.fmean(abs(best - y) for y in targets),
    }


# Vowpal Wabbit


def ensure_vowpal_wabbit(folder: Path) -> None:
    """Starts again inside an environment that has the package, made if need be."""
    if importlib.util.find_spec("vowpalwabbit"):
        return
    if Path(sys.prefix).resolve() == folder:
        sys.exit(f"vowpalwabbit is missing from {folder}: remove that folder and run again")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = folder / "ready"
    if not ready.exists():
        say(f"installing Vowpal Wabbit into {folder}")
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements.txt"]
        # Standard output is for the report.
        if subprocess.run(install, stdout=sys.stderr).returncode != 0:
            sys.exit("Vowpal Wabbit cannot be installed; the lines above say why")
        ready.touch()
    again = [str(python), str(Path(__file__).resolve()), *sys.argv[1:]]
    sys.exit(subprocess.run(again).returncode)


def cats_name(setting: tuple[int, float, float, str]) -> str:
    leaves, bandwidth, epsilon, more = setting
    return f"CATS K={leaves} h={bandwidth} eps={epsilon} {more}".rstrip()


def cats_arguments(setting: tuple[int, float, float, str], seed: int) -> str:
    leaves, bandwidth, epsilon, more = setting
    return (
        f"--cats {leaves} --bandwidth {bandwidth} --epsilon {epsilon} --min_value 0 --max_value 1 "
        f"--random_seed {seed} --quiet {more}"
    )


def run_cats(arguments: str, stream: list[tuple[list[float], float]], warm: int, log: Path) -> dict:
    """One pass: predict an action, see its cost, learn it with the density it had."""
    from vowpalwabbit import Workspace

    clock = time.perf_counter_ns
    workspace = Workspace(arguments)
    parsing = predicting = learning = 0
    losses = []
    lines = []
    for index, (x, y) in enumerate(stream):
        features = "| " + " ".join(f"x{name}:{value:.6f}" for name, value in enumerate(x))
        start = clock()
        example = workspace.parse(features)
        parsed = clock()
        action, density = workspace.predict(example)
        predicted = clock()
        workspace.finish_example(example)

        loss = abs(action - y)
        # An example without a label stays one: what is learned has to be parsed with its label.
        line = f"ca {action}:{loss}:{density} {features}"
        label_start = clock()
        example = workspace.parse(line)
        learn_start = clock()
        workspace.learn(example)
        learned = clock()
        workspace.finish_example(example)

        lines.append(line)
        if warm <= index:
            parsing += (parsed - start) + (learn_start - label_start)
            predicting += predicted - parsed
            learning += learned - learn_start
            losses.append(loss)
    workspace.finish()

    log.write_text("\n".join(lines) + "\n")
    start = clock()
    Workspace(f"{arguments} --data {log}").finish()
    replaying = clock() - start

    def microseconds(nanoseconds: int, count: int) -> float:
        return nanoseconds / count / 1e3

    measured = len(losses)
    return {
        "loss": statistics.fmean(losses),
        "microseconds": microseconds(predicting + learning, measured),
        "predict_microseconds": microseconds(predicting, measured),
        "learn_microseconds": microseconds(learning, measured),
        "parse_microseconds": microseconds(parsing, measured),
        "driver_microseconds": microseconds(replaying, len(stream)),
    }


# egret


def build_egret(target: Path) -> Path:
    say("building egret's example online_setting")
    command = ["cargo", "build", "--release", "--package", "egret-lab", "--example", "online_setting"]
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode != 0:
        sys.exit("egret's side does not build; `--only vw` runs the other alone")
    return target / "release" / "examples" / ("online_setting.exe" if os.name == "nt" else "online_setting")


def run_egret(program: Path, stream: Path, warm: int) -> list[dict]:
    command = [program, "--json", "--stream", stream, "--warm", str(warm)]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{program.name} ended with exit status {run.returncode}")
    rows = [json.loads(line) for line in run.stdout.splitlines() if line.strip()]
    if not rows:
        sys.exit(f"{program.name} printed no result")
    return [{**row, "name": f"egret {row['learner']}"} for row in rows]


# The report


def machine() -> dict:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    try:
        package = importlib.metadata.version("vowpalwabbit")
    except importlib.metadata.PackageNotFoundError:
        package = None
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "vowpalwabbit": package,
    }


def mean_of(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.fmean(row[key] for row in rows) for key in rows[0]}


def summary(name: str, rows: list[dict]) -> dict:
    """Mean, least and greatest of each figure over the repetitions."""
    numbers = [key for key, value in rows[0].items() if isinstance(value, (int, float)) and not isinstance(value, bool)]
    figures = {}
    for key in numbers:
        values = [row[key] for row in rows]
        figures[key] = {"mean": statistics.fmean(values), "low": min(values), "high": max(values)}
    return {"name": name, **figures}


def comparisons(results: list[dict]) -> list[dict]:
    """egret's time over Vowpal Wabbit's, for the first setting and for the best in hindsight."""
    peers = [row for row in results if row["name"].startswith("CATS")]
    if not peers:
        return []
    best = min(peers, key=lambda row: row["loss"]["mean"])
    found = []
    for ours in (row for row in results if row["name"].startswith("egret")):
        for role, peer in (("first setting", peers[0]), ("best in hindsight", best)):
            found.append(
                {
                    "egret": ours["name"],
                    "peer": peer["name"],
                    "role": role,
                    "time_ratio": ours["microseconds"]["mean"] / peer["microseconds"]["mean"],
                    # On a busy machine the least is closer to the truth than the mean.
                    "time_ratio_of_least": ours["microseconds"]["low"] / peer["microseconds"]["low"],
                    "egret_loss": ours["loss"]["mean"],
                    "peer_loss": peer["loss"]["mean"],
                }
            )
    return found


def print_report(report: dict) -> None:
    about, settings = report["machine"], report["settings"]
    print(f"{about['cpu']}, {about['cores']} cores, {about['system']}, one thread")
    print(f"Python {about['python']}, vowpalwabbit {about['vowpalwabbit'] or 'not installed'}")
    print(
        f"{settings['warm']} decisions to warm up, {settings['measured']} measured; "
        f"{settings['repetitions']} repetitions: mean (least to greatest)"
    )
    references = report["loss_of"]
    print(f"loss of uniform actions {references['uniform']:.4f}, of the best constant {references['best_constant']:.4f}\n")

    table = [["", "mean loss", "predict + learn, µs", "parsing, µs", "driver, µs"]]
    for row in report["results"]:
        table.append(
            [
                row["name"],
                spread(row["loss"], 4),
                spread(row["microseconds"], 1),
                spread(row.get("parse_microseconds"), 1),
                spread(row.get("driver_microseconds"), 1),
            ]
        )
    print_table(table)
    peers = [row for row in report["results"] if row["name"].startswith("CATS")]
    if peers:
        best = min(peers, key=lambda row: row["loss"]["mean"])
        print(f"\nBest CATS in hindsight: {best['name']}")
    if report["comparisons"]:
        print()
        table = [["", "against", "time, egret / CATS", "of the least", "loss, egret", "loss, CATS"]]
        for row in report["comparisons"]:
            table.append(
                [
                    row["egret"],
                    f"{row['peer']} ({row['role']})",
                    f"{row['time_ratio']:.2f}",
                    f"{row['time_ratio_of_least']:.2f}",
                    f"{row['egret_loss']:.4f}",
                    f"{row['peer_loss']:.4f}",
                ]
            )
        print_table(table)


def spread(figure: dict | None, digits: int) -> str:
    if figure is None:
        return "-"
    return f"{figure['mean']:.{digits}f} ({figure['low']:.{digits}f} to {figure['high']:.{digits}f})"


def print_table(rows: list[list[str]]) -> None:
    """As Markdown, so that it can be pasted."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for index, row in enumerate(rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if index == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


if __name__ == "__main__":
    main()
