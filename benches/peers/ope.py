#!/usr/bin/env python3
"""`egret ope` over Parquet logs of 1, 10 and 50 million events, beside Open Bandit Pipeline's numpy on the same rows.

Each log has the columns of egret's own (sequence number, context, action, density, loss) and three more: the density q of
another policy, a prediction of the loss and the prediction's mean under that policy. egret reads the files from disk,
and computes IPS, SNIPS and DR with normal intervals and the anytime-valid interval by betting. Open Bandit Pipeline's
estimators run on numpy arrays that are in memory already: IPS, SNIPS and DR as they are, without an interval, since its
bootstrap would take hours here, and it has none by betting. One thread is what numpy uses for it; egret uses all cores.

What is printed: events per second of wall time (least and most over the repetitions), the peak memory of the process
as the kernel counts it, and the ratio. The logs stay in the folder given by --folder and are used again.
"""

import argparse
import importlib.util
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = ["numpy", "pyarrow", "obp==0.4.1"]
CHUNK = 1_000_000


def main() -> None:
    options = parse_arguments()
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    ensure_packages(target / "ope-peers-venv")
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "egret-cli"], cwd=ROOT, check=True)
    egret = target / "release" / "egret"
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{platform.machine()}, {os.cpu_count()} cores, {processor()}")
    print(f"{'events':>12} {'who':<28} {'million events/s':>26} {'peak memory':>12} {'ips':>9} {'snips':>9} {'dr':>9}")
    for millions in options.millions:
        path = options.folder / f"{millions}m.parquet"
        if not path.exists():
            write_log(path, millions)
        ours = [run_egret(egret, path) for _ in range(options.repetitions)]
        show(millions, "egret, from disk", ours)
        theirs = run_apart(path, options.repetitions)
        show(millions, "obp, arrays in memory", theirs)
        ratio = statistics.median(row["rate"] for row in ours) / statistics.median(row["rate"] for row in theirs)
        print(f"{'':>12} ratio of the medians: {ratio:.2f}; the same estimates to {agreement(ours[0], theirs[0]):.0e}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 10, 50], help="sizes of the logs")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("ope-logs"), help="where the logs are kept (50 million: 4 GB)")
    parser.add_argument("--obp", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.obp:
        print(json.dumps([run_obp(*read_arrays(options.obp)) for _ in range(options.repetitions)]))
        sys.exit()
    return options


def ensure_packages(folder: Path) -> None:
    """Runs this script again in an environment that has the packages."""
    if importlib.util.find_spec("obp"):
        return
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        say("installing Open Bandit Pipeline with all it asks for: some gigabytes, once")
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def write_log(path: Path, millions: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(millions)
    writer = None
    partial = path.with_suffix(".partial")
    for chunk in range(millions * 1_000_000 // CHUNK):
        # Context x, action a from a density on [0, 1] that is 1/2 + a, loss |a - x|, the other policy's density 2(1 - a).
        x = generator.random((CHUNK, 2))
        a = (np.sqrt(1 + 8 * generator.random(CHUNK)) - 1) / 2
        loss = np.abs(a - x[:, 0])
        fhat = np.clip(loss + generator.normal(0, 0.1, CHUNK), 0, 1)
        table = pa.table(
            {
                "v": pa.array(np.ones(CHUNK, np.uint32)),
                "seq": pa.array(np.arange(chunk * CHUNK, (chunk + 1) * CHUNK, dtype=np.uint64)),
                "context": pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 2).cast(pa.list_(pa.float64())),
                "action": pa.array(a),
                "propensity": pa.array(np.full(CHUNK, "density")).dictionary_encode(),
                "density": pa.array(0.5 + a),
                "loss": pa.array(loss),
                "q": pa.array(2 * (1 - a)),
                "fhat": pa.array(fhat),
                "q_fhat": pa.array(fhat),
            }
        )
        writer = writer or pq.ParquetWriter(partial, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()
    partial.rename(path)


def run_egret(egret: Path, path: Path) -> dict:
    command = [egret, "ope", path, "--policy", "q=column:q,predicted=q_fhat", "--predicted", "fhat"]
    command += ["--estimators", "ips,snips,dr", "--intervals", "normal,betting", "--json"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit("egret ope failed")
    rows = json.loads(output)
    estimates = {row["estimator"]: row["estimate"] for row in rows if row["interval"] == "normal"}
    return {"rate": rows[0]["n"] / seconds / 1e6, "memory": usage.ru_maxrss / 2**20, **estimates}


def run_apart(path: Path, repetitions: int) -> list[dict]:
    """In a process of its own, to measure its memory."""
    command = [sys.executable, __file__, "--obp", path, "--repetitions", str(repetitions)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def read_arrays(path: Path):
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["loss", "density", "q", "fhat"])
    return [table[name].to_numpy() for name in ["loss", "density", "q", "fhat"]]


def run_obp(loss, density, q, fhat) -> dict:
    import numpy as np
    from obp.ope.estimators import (
        DoublyRobust,
        InverseProbabilityWeighting,
        SelfNormalizedInverseProbabilityWeighting,
    )

    # One action, number 0, whose "probabilities" are densities: the weights and the formulas are then the same.
    n = len(loss)
    action, position = np.zeros(n, int), np.zeros(n, int)
    common = dict(reward=loss, action=action, position=position, pscore=density, action_dist=q.reshape(n, 1, 1))
    start = time.perf_counter()
    estimates = {
        "ips": InverseProbabilityWeighting()._estimate_round_rewards(**common).mean(),
        "snips": SelfNormalizedInverseProbabilityWeighting()._estimate_round_rewards(**common).mean(),
        "dr": DoublyRobust()
        ._estimate_round_rewards(estimated_rewards_by_reg_model=fhat.reshape(n, 1, 1), **common)
        .mean(),
    }
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"rate": n / seconds / 1e6, "memory": memory, **{name: float(value) for name, value in estimates.items()}}


def show(millions: int, who: str, rows: list[dict]) -> None:
    rates = sorted(row["rate"] for row in rows)
    rate = f"{statistics.median(rates):.1f} ({rates[0]:.1f} to {rates[-1]:.1f})"
    memory = f"{max(row['memory'] for row in rows):.2f} GiB"
    first = rows[0]
    print(
        f"{millions * 1_000_000:>12,} {who:<28} {rate:>26} {memory:>12}"
        f" {first['ips']:>9.6f} {first['snips']:>9.6f} {first['dr']:>9.6f}",
        flush=True,
    )


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def agreement(ours: dict, theirs: dict) -> float:
    return max(abs(ours[name] - theirs[name]) for name in ["ips", "snips", "dr"])


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "processor unknown"


if __name__ == "__main__":
    main()
