#!/usr/bin/env python3
"""egret beside PyTorch: examples per second in offline training of the paper's network, one thread, batches of 8.

The network is the paper's offline oracle: two hidden layers as wide as the input, leaky ReLU, a sigmoid that
gives the best action, and a head of seven parameters that gives the loss away from it; Adam with a falling rate;
two gradient steps for each batch of 8.

Both sides read the same rows, and start from the same parameters. Before anything is timed they train on the rows
once, PyTorch in double precision as egret is, and their predictions must agree: it is the same network.

PyTorch is timed eagerly in single precision (its default and the faster one), eagerly in double, and, if a C++
compiler is found, with the whole step through torch.compile. The sides take turns, repetition by
repetition. CPU time is measured, so other work on a busy machine does not count.
"""

import argparse
import importlib.util
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BATCH = 8
RATE, T0 = 0.004, 500.0


def main() -> None:
    options = parse_arguments()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    ensure_torch(target / "torch-venv")
    program = build_egret(target)

    import torch

    torch.set_num_threads(1)
    kinds = ["eager float32", "eager float64"]
    if options.compile and shutil.which("c++"):
        kinds.append("compiled float32")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for width in options.widths:
            results.append(one_width(program, Path(folder), width, kinds, options))
    report = {
        "machine": machine(torch),
        "settings": {
            "batch": BATCH,
            "steps": options.steps,
            "rows": options.rows,
            "egret_epochs": options.epochs,
            "repetitions": options.repetitions,
        },
        "results": results,
    }
    if options.json:
        print(json.dumps(report))
    else:
        print_report(report, kinds)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", type=positive, nargs="+", default=[10, 20, 32, 54, 81], help="features of a context")
    parser.add_argument("--rows", type=positive, default=4096, help="examples in the file")
    parser.add_argument("--steps", type=positive, default=2, help="gradient steps for each batch")
    parser.add_argument("--epochs", type=positive, default=10, help="passes over the rows that egret is timed on; PyTorch: one")
    parser.add_argument("--repetitions", type=positive, default=5)
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="leave torch.compile out")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser.parse_args()


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def one_width(program: Path, folder: Path, width: int, kinds: list[str], options: argparse.Namespace) -> dict:
    say(f"width {width}")
    rows = folder / f"{width}.csv"
    data = make_rows(width, options.rows)
    rows.write_text("\n".join(",".join(map(repr, row)) for row in data) + "\n")
    difference = check_same_network(program, folder, rows, data, options.steps)

    trainers = {kind: Trainer(data, kind) for kind in kinds}
    for trainer in trainers.values():
        trainer.seconds(options.steps)  # compiles, and warms up
    speeds: dict[str, list[float]] = {name: [] for name in ["egret", *kinds]}
    for _ in range(options.repetitions):
        run = run_egret(program, ["--rows", rows, "--steps", options.steps, "--epochs", options.epochs])
        speeds["egret"].append(run["examples_per_second"])
        for kind, trainer in trainers.items():
            speeds[kind].append(len(data) / trainer.seconds(options.steps))
    ratios = {
        kind: spread_of([ours / theirs for ours, theirs in zip(speeds["egret"], speeds[kind])]) for kind in kinds
    }
    return {
        "width": width,
        "parameters": run["parameters"],
        "largest_difference_of_predictions": difference,
        "examples_per_second": {name: spread_of(values) for name, values in speeds.items()},
        "ratio": ratios,
    }


def make_rows(width: int, count: int) -> list[list[float]]:
    """A best action that is a bent function of the features; its loss is the distance from it."""
    generator = random.Random(width)
    weights = [generator.uniform(-1.0, 1.0) for _ in range(width)]
    rows = []
    for _ in range(count):
        x = [round(generator.random(), 6) for _ in range(width)]
        score = sum(w * (value - 0.5) for w, value in zip(weights, x))
        best = min(1.0, abs(score))
        action = round(generator.random(), 6)
        weight = round(min(5.0, 1.0 / generator.uniform(0.1, 3.0)), 6)
        rows.append([*x, action, round(abs(action - best), 6), weight])
    return rows


# PyTorch


def ensure_torch(folder: Path) -> None:
    """Starts again inside an environment that has the package, made if need be."""
    if importlib.util.find_spec("torch"):
        return
    if Path(sys.prefix).resolve() == folder:
        sys.exit(f"torch is missing from {folder}: remove that folder and run again")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists() or subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode != 0:
        say(f"installing PyTorch into {folder}")
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--requirement", HERE / "requirements-pytorch.txt"]
        # Standard output is for the report.
        if subprocess.run(install, stdout=sys.stderr).returncode != 0:
            sys.exit("PyTorch cannot be installed; the lines above say why")
    again = [str(python), str(Path(__file__).resolve()), *sys.argv[1:]]
    sys.exit(subprocess.run(again).returncode)


def network(width: int, dtype):
    """The argmin and the head. q starts at 0 and the weights at 1, three for each side."""
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.argmin = torch.nn.Sequential(
                torch.nn.Linear(width, width),
                torch.nn.LeakyReLU(),
                torch.nn.Linear(width, width),
                torch.nn.LeakyReLU(),
                torch.nn.Linear(width, 1),
                torch.nn.Sigmoid(),
            )
            self.q = torch.nn.Parameter(torch.zeros(1))
            self.weights = torch.nn.Parameter(torch.ones(2, 3))

        def forward(self, x, action):
            z = self.argmin(x).squeeze(1) - action
            r = z.abs()
            powers = torch.stack((r, r * r.sqrt(), r * r), dim=1)
            weights = self.weights.abs()
            return self.q + torch.where(z >= 0, powers @ weights[0], powers @ weights[1])

    return Network().to(dtype)


class Trainer:
    def __init__(self, data: list[list[float]], kind: str):
        import torch

        compiled, precision = kind.startswith("compiled"), kind.split()[1]
        dtype = getattr(torch, precision)
        torch.manual_seed(1)
        table = torch.tensor(data, dtype=dtype)
        width = table.shape[1] - 3
        # Cut into batches before the clock starts.
        self.batches = [
            (part[:, :width].contiguous(), part[:, width].contiguous(), part[:, width + 1].contiguous(), part[:, width + 2].contiguous())
            for part in table.split(BATCH)
        ]
        self.model = network(width, dtype)
        rate = torch.tensor(RATE) if compiled else RATE
        self.adam = torch.optim.Adam(self.model.parameters(), lr=rate, capturable=False)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.adam, lambda t: (T0 / (T0 + t)) ** 0.5)
        self.step = torch.compile(self.plain_step) if compiled else self.plain_step

    def plain_step(self, x, action, loss, weight):
        self.adam.zero_grad(set_to_none=True)
        residual = self.model(x, action) - loss
        (weight * residual * residual).mean().backward()
        self.adam.step()

    def seconds(self, steps: int) -> float:
        """One pass over the rows."""
        start = time.process_time()
        for batch in self.batches:
            for _ in range(steps):
                self.step(*batch)
                self.schedule.step()
        return time.process_time() - start


def check_same_network(program: Path, folder: Path, rows: Path, data: list[list[float]], steps: int) -> float:
    """Both sides from the same parameters, over the rows twice; the largest difference between predictions."""
    import torch

    initial, predictions = folder / "initial", folder / "predictions"
    run_egret(
        program,
        ["--rows", rows, "--steps", steps, "--epochs", 1, "--initial", initial, "--predictions", predictions],
    )
    trainer = Trainer(data, "eager float64")
    width = len(data[0]) - 3
    flat = torch.tensor([float(line) for line in initial.read_text().split()], dtype=torch.float64)
    with torch.no_grad():
        for layer, outputs in ((0, width), (2, width), (4, 1)):
            linear = trainer.model.argmin[layer]
            linear.bias.copy_(flat[:outputs])
            # egret keeps weights by input, PyTorch by output.
            linear.weight.copy_(flat[outputs : outputs + width * outputs].reshape(width, outputs).T)
            flat = flat[outputs + width * outputs :]
    for _ in range(2):
        trainer.seconds(steps)
    with torch.no_grad():
        theirs = torch.cat([trainer.model(x, action).clamp(0, 1) for x, action, _, _ in trainer.batches])
    ours = torch.tensor([float(line) for line in predictions.read_text().split()], dtype=torch.float64)
    difference = (ours - theirs).abs().max().item()
    if not difference < 1e-4:
        sys.exit(f"width {width}: predictions differ by {difference} after the same training: not the same network")
    return difference


# egret


def build_egret(target: Path) -> Path:
    say("building egret's example train_network")
    command = ["cargo", "build", "--release", "--package", "egret-lab", "--example", "train_network"]
    if subprocess.run(command, cwd=ROOT, stdout=sys.stderr).returncode != 0:
        sys.exit("egret's side does not build")
    return target / "release" / "examples" / ("train_network.exe" if os.name == "nt" else "train_network")


def run_egret(program: Path, arguments: list) -> dict:
    run = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{program.name} ended with exit status {run.returncode}")
    return json.loads(run.stdout)


# The report


def machine(torch) -> dict:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "vector": torch.backends.cpu.get_cpu_capability(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def spread_of(values: list[float]) -> dict:
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def print_report(report: dict, kinds: list[str]) -> None:
    about, settings = report["machine"], report["settings"]
    print(f"{about['cpu']} ({about['vector']}), {about['cores']} cores, {about['system']}, one thread on each side")
    print(f"Python {about['python']}, torch {about['torch']}")
    print(
        f"batches of {settings['batch']}, {settings['steps']} gradient steps each, {settings['rows']} rows, "
        f"{settings['repetitions']} repetitions: median (least to greatest)\n"
    )
    table = [["width", "parameters", "egret, examples/s", *(f"PyTorch {kind}" for kind in kinds), *(f"ratio to {kind}" for kind in kinds)]]
    for row in report["results"]:
        speeds, ratios = row["examples_per_second"], row["ratio"]
        table.append(
            [
                str(row["width"]),
                str(row["parameters"]),
                spread(speeds["egret"], 0),
                *(spread(speeds[kind], 0) for kind in kinds),
                *(spread(ratios[kind], 1) for kind in kinds),
            ]
        )
    print_table(table)
    worst = max(row["largest_difference_of_predictions"] for row in report["results"])
    print(f"\nTrained on the rows twice from the same start, predictions differ by {worst:.1e} at most.")


def spread(figure: dict, digits: int) -> str:
    return f"{figure['median']:,.{digits}f} ({figure['low']:,.{digits}f} to {figure['high']:,.{digits}f})"


def print_table(rows: list[list[str]]) -> None:
    """As Markdown, so that it can be pasted."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for index, row in enumerate(rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
        if index == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


if __name__ == "__main__":
    main()
