"""dsjson of egret's trains the real Vowpal Wabbit, and dsjson of its kind is read by egret."""

import json
import random
import re

from command import SCRATCH, demo_log, egret, records, refused
from vowpalwabbit import Workspace


def trained(log, *arguments) -> tuple[int, float, list[str]]:
    """Examples, average loss, and what Vowpal Wabbit says of each example."""
    options = f"--dsjson --cats 32 --bandwidth 0.05 --min_value 0 --max_value 1 -P 1 --random_seed 5 -d {log}"
    workspace = Workspace(" ".join([options, *arguments]), enable_logging=True)
    workspace.finish()
    log = workspace.get_log()
    text = "".join(log)
    for word in ("error", "warning", "malformed", "skipping"):
        assert word not in text.lower(), text[:2000]
    examples = int(re.search(r"number of examples = (\d+)", text)[1])
    loss = float(re.search(r"average loss = ([-\d.]+)", text)[1])
    return examples, loss, [label for label in re.findall(r"\{([^}]*)\}", text)]


def test_vowpal_wabbit_trains_on_the_export():
    log, export = demo_log(), SCRATCH / "export.dsjson"
    told = json.loads(egret("exhaust", "convert", log, "-o", export, "--json"))
    assert told["rows"] == 4000
    truth = records(log)
    examples, loss, labels = trained(export)
    assert examples == 4000, examples
    # action, cost, pdf_value: to the digits it prints.
    found = [float(part) for part in labels[0].split(",")[:2]]
    assert abs(found[0] - truth[0]["action"]) < 0.006 and abs(found[1] - truth[0]["loss"]) < 0.006, labels[0]
    # What was learned is in the features and the costs: with costs dealt out anew there is nothing to learn.
    lines = [json.loads(line) for line in export.read_text().splitlines()]
    costs = [line["_label_ca"]["cost"] for line in lines]
    random.Random(7).shuffle(costs)
    shuffled = SCRATCH / "shuffled.dsjson"
    for line, cost in zip(lines, costs):
        line["_label_ca"]["cost"] = cost
    shuffled.write_text("".join(json.dumps(line) + "\n" for line in lines))
    examples, without, _ = trained(shuffled)
    assert examples == 4000 and loss < 0.9 * without, (loss, without)
    # What egret left in the line no longer agrees with the label, and it says so.
    error = refused("exhaust", "convert", shuffled, "-o", SCRATCH / "none.parquet")
    assert "_label_ca and egret do not say the same" in error, error


def test_the_way_back_loses_nothing():
    log, export = demo_log(), SCRATCH / "export.dsjson"
    egret("exhaust", "convert", log, "-o", export)
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
    egret("exhaust", "convert", log, "-o", export)
    line = json.loads(export.read_text())
    assert line["_label_ca"] == {"cost": 0.25, "pdf_value": 0.05, "action": 12.5}
    assert line["c"] == {"x": {"warm": 0.5, "old": 2.0}}
    assert (line["EventId"], line["Timestamp"], line["pdrop"]) == ("a", "2026-01-02T03:04:05Z", 0.5)
    # A line of another's: dP/dmu is back.
    del line["egret"]
    export.write_text(json.dumps(line) + "\n")
    assert "--low" in refused("exhaust", "head", export)
    out = SCRATCH / "back.jsonl"
    egret("exhaust", "convert", export, "-o", out, "--low", -10, "--high", 30)
    back = json.loads(out.read_text())
    assert (back["density"], back["loss"], back["action"], back["passProb"]) == (2.0, 0.25, 12.5, 0.5)
    assert back["context"] == {"x.old": 2.0, "x.warm": 0.5}
    for changed, reason in [
        ({"mu": {"truncated_normal": {"mean": 0.0, "sd": 9.0, "low": -10.0, "high": 30.0}}}, "not uniform on an interval"),
        ({"propensity": "atom", "density": None}, "was a point mass"),
        ({"loss": None}, "has no loss yet"),
    ]:
        log.write_text(json.dumps(row | changed) + "\n")
        error = refused("exhaust", "convert", log, "-o", export)
        assert reason in error and "row 1" in error, error


def test_text_features_are_hashed_when_asked_for():
    line = {
        "_label_ca": {"cost": 0.5, "pdf_value": 0.1, "action": 3.0},
        "Timestamp": "2021-02-04T16:31:29.2460000Z",
        "EventId": "b",
        "c": {"shared": {"device": "phone", "age": 30, "_tag": "x"}},
        "VWState": {"m": "N/A"},
    }
    log, out = SCRATCH / "text.dsjson", SCRATCH / "text.jsonl"
    log.write_text(json.dumps(line) + "\n")
    error = refused("exhaust", "convert", log, "-o", out, "--low", 0, "--high", 10)
    assert "device" in error and "--hash-bits" in error, error
    egret("exhaust", "convert", log, "-o", out, "--low", 0, "--high", 10, "--hash-bits", 18)
    record = json.loads(out.read_text())
    assert record["context"]["dim"] == 2**18 and sorted(record["context"]["values"]) == [1.0, 30.0]
    assert record["density"] == 1.0 and record["time"] == "2021-02-04T16:31:29.246Z"


if __name__ == "__main__":
    for name, value in list(globals().items()):
        if name.startswith("test_"):
            value()
