"""egret's dsjson trains the real Vowpal Wabbit, and egret reads dsjson from elsewhere."""

import json
import random
import re
import subprocess
import sys

from command import SCRATCH, demo_log, egret, records, refused

# In a process of its own, left at once: a workspace that kept its log breaks when Python takes it apart.
TRAIN = """
import os, sys
from vowpalwabbit import Workspace
workspace = Workspace(sys.argv[1], enable_logging=True)
workspace.finish()
print("\\n".join(workspace.get_log()), flush=True)
os._exit(0)
"""


def trained(log, high, low=0.0) -> tuple[float, list[str]]:
    """The average loss over 4000 examples on [low, high], and the labels as Vowpal Wabbit prints them."""
    actions = f"--cats 32 --bandwidth {(high - low) / 16} --min_value {low} --max_value {high}"
    options = f"--dsjson {actions} -P 1 --random_seed 5 -d {log}"
    run = subprocess.run([sys.executable, "-c", TRAIN, options], capture_output=True, text=True)
    text = run.stdout
    assert run.returncode == 0, run.stderr
    for word in ("error", "warning", "malformed", "skipping"):
        assert word not in (text + run.stderr).lower(), (text + run.stderr)[:2000]
    assert "number of examples = 4000" in text, text[-500:]
    loss = float(re.search(r"average loss = ([-\d.]+)", text)[1])
    # A label that is long is cut, and then has no brace at its end.
    return loss, re.findall(r"\{(-?\d+\.?\d*,-?\d+\.?\d*)", text)


def test_vowpal_wabbit_takes_the_demo_s_log():
    log, export = demo_log(), SCRATCH / "export.dsjson"
    told = json.loads(egret("log", "convert", log, "-o", export, "--json"))
    assert told["rows"] == 4000
    _, labels = trained(export, 50.0, 5.0)
    # The action and its cost, to the digits that are printed.
    for record, label in zip(records(log)[:3], labels):
        action, cost = [float(part) for part in label.split(",")[:2]]
        assert abs(action - record["action"]) < 0.006 and abs(cost - record["loss"]) < 0.006, label


def test_vowpal_wabbit_learns_from_the_export():
    """Random actions, with the best one as a feature: Vowpal Wabbit learns from true costs, and not from shuffled ones."""
    chance = random.Random(7)
    log, export, shuffled = (SCRATCH / name for name in ("blind.jsonl", "blind.dsjson", "shuffled.dsjson"))
    rows = []
    for seq in range(4000):
        x, action = chance.random(), 10.0 * chance.random()
        loss = abs(action / 10.0 - x)
        mu = {"interval": {"low": 0.0, "high": 10.0}}
        rows.append({"seq": seq, "context": [x, 1.0], "mu": mu, "action": action, "density": 1.0, "loss": loss})
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    egret("log", "convert", log, "-o", export)
    learned, _ = trained(export, 10.0)
    lines = [json.loads(line) for line in export.read_text().splitlines()]
    assert all(line["_label_ca"]["pdf_value"] == 0.1 for line in lines)
    costs = [line["_label_ca"]["cost"] for line in lines]
    chance.shuffle(costs)
    for line, cost in zip(lines, costs):
        line["_label_ca"]["cost"] = cost
    shuffled.write_text("".join(json.dumps(line) + "\n" for line in lines))
    blind, _ = trained(shuffled, 10.0)
    # Blind actions cost 1/3.
    assert 0.25 < blind < 0.42 and learned < 0.75 * blind, (learned, blind)
    # What egret left in the line no longer agrees with the label, and it says so.
    error = refused("log", "convert", shuffled, "-o", SCRATCH / "none.parquet")
    assert "_label_ca and egret do not say the same" in error, error


def test_vowpal_wabbit_takes_named_features():
    context = {"age": 31, "town": "Porto", "new": True, "none": None, "user": {"tags": ["a", "b"], "scores": [0.5, 2]}, "odd": [[1], "c"]}
    row = {"context": context, "mu": {"interval": {"low": 0.0, "high": 1.0}}, "density": 1.0, "loss": 0.5}
    log, export = SCRATCH / "named.jsonl", SCRATCH / "named.dsjson"
    log.write_text("".join(json.dumps(dict(row, action=seq / 4000)) + "\n" for seq in range(4000)))
    egret("log", "convert", log, "-o", export)
    trained(export, 1.0)
    assert records(export) == records(log)


def test_the_way_back_loses_nothing():
    log, export = demo_log(), SCRATCH / "export.dsjson"
    egret("log", "convert", log, "-o", export)
    assert records(export) == records(log)


def test_the_density_is_by_length():
    row = {
        "v": 1,
        "context": {"warm": 0.5, "old": 2.0},
        "mu": {"interval": {"low": -10.0, "high": 30.0}},
        "action": 12.5,
        "propensity": "density",
        "density": 2.0,
        "loss": 0.25,
        "passProb": 0.5,
        "time": "2026-01-02T03:04:05Z",
        "eventId": "a",
    }
    log, export = SCRATCH / "one.jsonl", SCRATCH / "one.dsjson"
    log.write_text(json.dumps(row) + "\n")
    egret("log", "convert", log, "-o", export)
    line = json.loads(export.read_text())
    assert line["_label_ca"] == {"cost": 0.25, "pdf_value": 0.05, "action": 12.5}
    assert line["c"] == {"warm": 0.5, "old": 2.0}
    assert (line["EventId"], line["Timestamp"], line["pdrop"]) == ("a", "2026-01-02T03:04:05Z", 0.5)
    # A line of another's: dP/dmu is back.
    del line["egret"]
    export.write_text(json.dumps(line) + "\n")
    assert "--space" in refused("log", "head", export)
    out = SCRATCH / "back.jsonl"
    egret("log", "convert", export, "-o", out, "--space", "interval:-10,30")
    back = json.loads(out.read_text())
    assert (back["density"], back["loss"], back["action"], back["passProb"]) == (2.0, 0.25, 12.5, 0.5)
    assert back["context"] == {"old": 2.0, "warm": 0.5}
    for changed, reason in [
        ({"mu": {"truncated_normal": {"mean": 0.0, "sd": 9.0, "low": -10.0, "high": 30.0}}}, "not uniform on an interval"),
        ({"propensity": "pointMass", "density": None}, "was a point mass"),
        ({"loss": None}, "has no loss yet"),
    ]:
        log.write_text(json.dumps(row | changed) + "\n")
        error = refused("log", "convert", log, "-o", export)
        assert reason in error and "row 1" in error, error


def test_everything_below_c_is_a_named_feature():
    line = {
        "_label_ca": {"cost": 0.5, "pdf_value": 0.1, "action": 3.0},
        "Timestamp": "2021-02-04T16:31:29.2460000Z",
        "EventId": "b",
        "c": {"shared": {"device": "phone", "age": 30, "_tag": "x"}, "new": True, "scores": [0.5, 2], "_group": {"a": 1}},
        "VWState": {"m": "N/A"},
    }
    log, out = SCRATCH / "text.dsjson", SCRATCH / "text.jsonl"
    log.write_text(json.dumps(line) + "\n")
    egret("log", "convert", log, "-o", out, "--space", "interval:0,10")
    record = json.loads(out.read_text())
    assert record["context"] == {"shared": {"device": "phone", "age": 30}, "new": True, "scores": [0.5, 2]}
    assert record["density"] == 1.0 and record["time"] == "2021-02-04T16:31:29.246Z"


if __name__ == "__main__":
    for name, value in list(globals().items()):
        if name.startswith("test_"):
            value()
