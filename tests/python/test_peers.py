"""Vowpal Wabbit's learners play in egret's lab, with the densities that they say."""

import json
import math
import random
import struct
import subprocess
import sys
from pathlib import Path

from command import SCRATCH, egret

ADAPTER = Path(__file__).parents[2] / "crates" / "egret-lab" / "peers" / "adapter.py"


def played(learner, settings, rows, delay, columns=1) -> list[tuple[float, float, float, float]]:
    """The actions of a run with their densities, means of 1/p, and losses |a - x|, which come so many decisions late.

    x is the first feature, and the others say nothing.
    """
    process = subprocess.Popen([sys.executable, ADAPTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    contexts = [0.2 if row % 2 else 0.8 for row in range(rows)]
    chance = random.Random(1)
    numbers = [number for x in contexts for number in (x, *(chance.random() for _ in range(columns - 1)))]
    header = {"learner": learner, "settings": settings, "seed": 3, "rows": rows, "columns": columns}
    header["actions"] = {"kind": "interval"}
    process.stdin.write(json.dumps(header).encode() + b"\n" + struct.pack(f"<{len(numbers)}d", *numbers))
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == {"ready": True}
    rounds = []
    for row, x in enumerate(contexts):
        process.stdin.write(b"d")
        process.stdin.flush()
        action, density, inverse = struct.unpack("<3d", process.stdout.read(24))
        rounds.append((action, density, inverse, abs(action - x)))
        if delay <= row:
            process.stdin.write(b"l" + struct.pack("<d", rounds[row - delay][3]))
    process.stdin.write(b"t")
    process.stdin.flush()
    times = json.loads(process.stdout.readline())
    assert all(0 < times[name] for name in ("predict_ns", "learn_ns", "format_ns")), times
    process.stdin.close()
    assert process.wait() == 0
    return rounds


def test_densities_are_those_of_the_draws():
    """If p is the density of the draws, 1/p has the mean 1 over them, and 1/p² the mean that the adapter states."""
    cats = {"k": 8, "bandwidth": 0.125, "epsilon": 0.05, "options": "--coin"}
    # SquareCB's rarest actions are too rare to be met: 1/p² is then less than its mean.
    for learner, settings, least in [
        ("cats", cats, 0.6),
        ("cb_explore", {"k": 16, "options": "--epsilon 0.05"}, 0.6),
        ("cb_explore", {"k": 16, "options": "--squarecb -q xx"}, 0.2),
    ]:
        rounds = played(learner, settings, 6000, 0)
        n = len(rounds)
        inverse = sum(of[2] for of in rounds) / n
        once = sum(1 / of[1] for of in rounds) / n
        assert abs(once - 1) < 5 * math.sqrt(inverse / n), (learner, settings, once)
        twice = sum(1 / of[1] ** 2 for of in rounds) / n
        assert least * inverse < twice < 1.5 * inverse, (learner, settings, twice, inverse)


def test_peers_learn_from_losses_that_come_late():
    for learner, settings in [
        ("cats", {"k": 8, "bandwidth": 0.125, "epsilon": 0.05, "options": "-l 0.5"}),
        ("cb_explore", {"k": 16, "options": "--squarecb"}),
    ]:
        losses = [of[3] for of in played(learner, settings, 6000, 100)]
        # Random actions cost 0.34.
        late = sum(losses[-1500:]) / 1500
        assert late < 0.25, (learner, late)


def test_features_do_not_share_weights():
    """With names of digits, features that say nothing took --cb_explore from a loss of .05 to one of .24."""
    rounds = played("cb_explore", {"k": 16, "options": "--squarecb"}, 4_000, 0, columns=4)
    late = [loss for *_, loss in rounds[3_000:]]
    assert sum(late) / len(late) < 0.12, sum(late) / len(late)


def test_the_best_setting_of_each_family_plays_in_worlds():
    results = SCRATCH / "worlds"
    command = ["lab", "worlds", "--worlds", "price", "--learners", "default", "--peers", "vw", "--python", sys.executable]
    command += ["--seeds", 1, "--decisions", 200, "--results", results, "--json"]
    rows = json.loads(egret(*command))["worlds"]
    assert [row["learner"] for row in rows] == ["default", "cats", "cb_explore"]
    assert rows[0]["setting"] is None and rows[0]["ahead"] is None
    for row, setting in zip(rows[1:], ("VW CATS K=", "VW cb_explore K=")):
        assert row["setting"].startswith(setting), row
        assert abs(row["ahead"]["mean"] - (rows[0]["share"] - row["share"])) < 1e-9, row
        assert 0 < row["effective_per_1000"] < 1000 and 0 < row["microseconds"], row
    # Each of 28 settings on three seeds, then three learners on one.
    journal = results / "journal.jsonl"
    assert len(journal.read_text().splitlines()) == 28 * 3 + 3
    assert json.loads(egret(*command))["worlds"] == rows
    assert len(journal.read_text().splitlines()) == 28 * 3 + 3
