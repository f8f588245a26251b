"""Runs every test of every test_*.py in this folder. The first that fails ends the run.

EGRET is the path of the binary, EGRET_SCRATCH a folder for files; `cargo xtask test python` sets both.
"""

import importlib
import os
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> None:
    for name in ("EGRET", "EGRET_SCRATCH"):
        if name not in os.environ:
            sys.exit(f"{name} is not set: run `cargo xtask test python`")
    sys.path.insert(0, str(FOLDER))
    files = sorted(FOLDER.glob("test_*.py"))
    assert files, f"no test in {FOLDER}"
    for file in files:
        module = importlib.import_module(file.stem)
        tests = [value for name, value in vars(module).items() if name.startswith("test_") and callable(value)]
        assert tests, f"{file.name} has no test"
        for test in tests:
            start = time.perf_counter()
            test()
            print(f"{file.name} {test.__name__} passed in {time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
