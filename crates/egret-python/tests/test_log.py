"""Logs that Python leaves, for every command."""

import json
import subprocess
import sys

import pyarrow.parquet
import pytest
from conftest import customers, revenue, shop

import egret


def test_the_log_of_a_model_replays_to_the_bit(command, tmp_path):
    start = shop(0)
    start.save(tmp_path / "start.egret")
    with egret.Model.load(tmp_path / "start.egret", log=tmp_path / "events") as model:
        for n, customer in enumerate(customers(300)):
            decision = model.decide(customer)
            if n % 10 != 9:  # some outcomes never come
                model.learn(decision, revenue(n, decision.action))
            if n == 150:
                model.flush()
    parts = sorted(path.name.split("-")[0] for path in (tmp_path / "events").iterdir())
    assert parts == ["000000000000", "000000000136"]
    found = json.loads(
        command("audit", tmp_path / "events", "--model", tmp_path / "start.egret", "--relearn", "--json")
    )
    # Those whose outcomes never came are logged at the end, when their models are gone.
    assert (found["replay"]["replayed"], found["replay"]["equal"]) == (270, 270)
    assert not found["alarm"]
    assert found["sequence"]["missing"] == found["sequence"]["repeated"] == 0
    assert found["without_loss"] == 30
    command("log", "check", tmp_path / "events")
    stats = json.loads(command("log", "stats", tmp_path / "events", "--json"))
    assert (stats["rows"], stats["next_event"]) == (300, 300)
    assert stats["objectives"] == {"maximize:0,50": 300}


def test_a_log_goes_on_after_a_restart(tmp_path):
    shop(20, log=tmp_path / "events").close()
    # A model from before those events would use their numbers again.
    with egret.Model(egret.Interval(5, 50), 1, log=tmp_path / "events") as model:
        assert model.next_event == 20
        decision = model.decide([1.0])
        model.learn(decision, 0.5)
        assert decision.event == 20
    found = egret.summarize(tmp_path / "events")
    assert (found.rows, found.next_event) == (21, 21)
    assert (found.seq["last"], found.seq["missing"], found.seq["out_of_order"]) == (20, 0, 0)


def test_a_log_is_complete_when_the_program_ends(tmp_path):
    program = (
        "import sys, egret\n"
        "model = egret.Model(egret.Interval(0, 1), log=sys.argv[1])\n"
        "model.learn(model.decide([1.0]), 0.5)\n"
        "model.decide([1.0])\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "log.jsonl")], check=True)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line).get("loss") for line in lines] == [0.5, None]


def test_somebody_elses_decisions_are_logged(command, tmp_path):
    file = tmp_path / "log.parquet"
    with egret.LogWriter(file, egret.Interval(0, 10), objective=egret.maximize(0, 5)) as log:
        for n, customer in enumerate(customers(100)):
            log.write(customer, action=(n % 10) + 0.5, density=1.0, outcome=n % 5, q_mine=0.5 + (n % 2), label="a")
        log.write({"income": 1}, action=3, density=None)
        with pytest.raises(egret.EgretError, match="interval:0,10"):
            log.write({"income": 1}, action=11, density=1.0)
    assert pyarrow.parquet.read_table(file).num_rows == 101
    rows = json.loads(command("ope", file, "--policy", "mine=column:q_mine", "--json"))
    here = egret.evaluate(file, {"mine": "column:q_mine"})
    assert here.table == rows
    stats = json.loads(command("log", "stats", file, "--json"))
    assert stats["extras"] == {"label": 100, "q_mine": 100}


def test_a_log_is_not_overwritten(tmp_path):
    shop(2, log=tmp_path / "log.jsonl").close()
    with pytest.raises(egret.LogError, match="there already"):
        shop(2, log=tmp_path / "log.jsonl")
    (tmp_path / "notes.txt").write_text("a folder with other files is a log too")
    shop(2, log=tmp_path).close()
    assert egret.summarize(tmp_path).rows == 4


def test_a_log_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(egret.LogError, match="file"):
        egret.Model(egret.Interval(0, 1), log=tmp_path / "file" / "events")
