"""The `egret` command, as tests run it."""

import json
import os
import subprocess
from pathlib import Path

SCRATCH = Path(os.environ["EGRET_SCRATCH"])


def egret(*arguments) -> str:
    """Runs it and returns its output; fails if it fails."""
    run = subprocess.run([os.environ["EGRET"], *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def refused(*arguments) -> str:
    """Runs it and returns its error; fails if it does not fail."""
    run = subprocess.run([os.environ["EGRET"], *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode != 0, run.stdout
    return run.stderr


def records(*logs) -> list[dict]:
    """The records of logs, as egret reads them."""
    out = SCRATCH / "as-read.jsonl"
    egret("log", "convert", *logs, "-o", out)
    return [json.loads(line) for line in out.read_text().splitlines()]


def demo_log() -> Path:
    """The log that the demo leaves."""
    folder = SCRATCH / "demo"
    if not folder.exists():
        egret("demo", "--decisions", 4000, "--output", folder, "--json")
    return folder / "log.parquet"
