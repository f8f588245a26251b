"""Evaluating, auditing, training and selecting from Python, beside the command."""

import json
import signal
import sys

import duckdb
import numpy
import pandas
import polars
import pyarrow.dataset
import pyarrow.parquet
import pytest
from conftest import customers, revenue, shop

import egret


@pytest.fixture(scope="module")
def sold(tmp_path_factory):
    """A log of 1,500 customers, the model from before them, and the one from after the first 500."""
    folder = tmp_path_factory.mktemp("sold")
    shop(0).save(folder / "start.egret")
    with egret.Model.load(folder / "start.egret", log=folder / "log.parquet") as model:
        for n, customer in enumerate(customers(1_500)):
            if n == 500:
                model.save(folder / "early.egret")
            decision = model.decide(customer)
            model.learn(decision, revenue(n, decision.action))
    return folder


def test_evaluation_is_that_of_the_command(sold, command):
    policies = {"blind": "uniform", "best": egret.best_of(sold / "early.egret", 8)}
    here = egret.evaluate(
        sold / "log.parquet", policies, model=egret.Model.load(sold / "early.egret"), from_seq=500, against="blind"
    )
    model = sold / "early.egret"
    there = command(
        *("ope", sold / "log.parquet", "-p", "blind=uniform", "-p", f"best=best-of:m=8,model={model}"),
        *("--model", model, "--from-seq", 500, "--against", "blind", "--json"),
    )
    assert here.table == json.loads(there)
    assert {"dr", "sndr", "snips", "ips"} == {row["estimator"] for row in here.table}
    frame = here.to_frame()
    assert len(frame) == len(here.table) and frame["n"].max() == 1_000
    assert "would have earned" in repr(here) and "blind" in repr(here) and "estimate" in repr(here)
    page = here._repr_html_()
    assert "<svg" in page and "<table>" in page and "best" in page
    assert here.to_dict()["level"] == 0.95


def test_intervals_are_named_as_on_the_command_line(sold, command):
    names = ["normal", "asymptotic", "bootstrap", "betting"]
    here = egret.evaluate(sold / "log.parquet", "uniform", estimators=["ips"], intervals=names)
    there = command(
        *("ope", sold / "log.parquet", "-p", "uniform", "--estimators", "ips"),
        *("--intervals", ",".join(names), "--json"),
    )
    assert here.table == json.loads(there)
    assert [row["interval"] for row in here.table] == names
    with pytest.raises(egret.EgretError, match="asymptotic"):
        egret.evaluate(sold / "log.parquet", "uniform", intervals=["gauss"])


def test_a_fit_is_that_of_the_command(sold, command):
    here = egret.evaluate(sold / "log.parquet", "uniform", fit=True)
    assert here.table == json.loads(command("ope", sold / "log.parquet", "-p", "uniform", "--fit", "--json"))
    assert here.table[0]["estimator"] == "dr"
    with pytest.raises(egret.EgretError, match="give one of them"):
        egret.evaluate(sold / "log.parquet", "uniform", fit=True, predicted="f")


def test_parts_and_quantiles_are_those_of_the_command(sold, command):
    here = egret.evaluate(
        sold / "log.parquet", "uniform", against="logged", window=500, quantiles=[0.5], worst=[0.1], to_seq=1_400
    )
    there = command(
        *("ope", sold / "log.parquet", "-p", "uniform", "--against", "logged", "--window", 500),
        *("--quantiles", 0.5, "--worst", 0.1, "--to-seq", 1_400, "--json"),
    )
    assert here.table + here.parts + here.distribution == json.loads(there)
    assert {row["part"] for row in here.parts} == {"events 1 to 500", "events 501 to 1000", "events 1001 to 1400"}
    assert [row["estimator"] for row in here.distribution[:2]] == ["quantile 0.5", "mean of the worst 0.1"]
    with pytest.raises(egret.EgretError, match="one of them"):
        egret.evaluate(sold / "log.parquet", "uniform", by="segment", window=500)


def test_a_table_with_names_of_its_own_is_a_log(tmp_path, command):
    rng = numpy.random.default_rng(3)
    segment = rng.choice(["gold", "basic"], 800)
    price = rng.uniform(5, 50, 800).round(2)
    revenue = numpy.where(price < numpy.where(segment == "gold", 40, 20), price, 0)
    frame = pandas.DataFrame({"price": price, "p": 1 / 45, "revenue": revenue, "segment": segment})
    frame.to_csv(tmp_path / "sales.csv", index=False)
    columns = {
        **{"action": "price", "density": "p", "density_per_unit": True, "reward": "revenue", "reward_range": (0, 50)},
        **{"context": ["segment"], "space": egret.Interval(5, 50)},
    }
    there = command(
        *("ope", "--action", "price", "--density", "p", "--density-per-unit", "--reward", "revenue"),
        *("--reward-range", "0,50", "--context", "segment", "--space", "interval:5,50"),
        *("--policy", "uniform", "--by", "segment", "--json", tmp_path / "sales.csv"),
    )
    for log in (frame, tmp_path / "sales.csv", polars.from_pandas(frame)):
        here = egret.evaluate(log, "uniform", by="segment", columns=columns)
        assert here.table + here.parts == json.loads(there)
        assert egret.train(log, columns=columns, method="dm").model.best({"segment": "gold"}) > 5
        assert not egret.audit(log, columns=columns).alarm
    assert abs(here.table[0]["estimate"] - revenue.mean()) < 1e-9
    with pytest.raises(egret.EgretError, match="acton"):
        egret.evaluate(frame, "uniform", columns={"acton": "price"})


def test_densities_that_were_not_kept_are_estimated():
    rng = numpy.random.default_rng(5)
    segment = rng.choice(["gold", "basic"], 2_000)
    price = rng.uniform(5, 50, 2_000)
    revenue = numpy.where(price < numpy.where(segment == "gold", 40, 20), price, 0)
    frame = pandas.DataFrame({"price": price, "revenue": revenue, "segment": segment})
    columns = {
        **{"action": "price", "reward": "revenue", "reward_range": (0, 50)},
        **{"context": ["segment"], "space": egret.Interval(5, 50)},
    }
    with pytest.raises(egret.EgretError, match="no column is the density of the action"):
        egret.evaluate(frame, "uniform", columns=columns)
    found = egret.evaluate(frame, "uniform", columns=columns, estimate_density=True)
    # Prices were uniform, so that weights are near 1.
    assert abs(found.table[0]["estimate"] - revenue.mean()) < 0.1 * revenue.mean()
    assert all(row["verdict_kind"] != "reliable" for row in found.table)
    assert all("the weights are estimated" in row["verdict"] for row in found.table)
    told = {"columns": columns, "epochs": 1, "estimate_density": True}
    assert "the weights are estimated" in str(egret.train(frame, **told).value)
    assert "the weights are estimated" in egret.select(frame, ["ridge"], **told).table[0]["verdict"]


def test_a_model_in_memory_is_a_policy(sold):
    model = egret.Model.load(sold / "early.egret")
    in_memory = egret.evaluate(sold / "log.parquet", {"it": egret.smooth(model, 8)}, from_seq=500)
    by_file = egret.evaluate(sold / "log.parquet", {"it": f"smooth:tau=8,model={sold / 'early.egret'}"}, from_seq=500)
    assert in_memory.table == by_file.table


def test_tables_are_logs(sold):
    file = sold / "log.parquet"
    expected = egret.evaluate(file, "uniform").table
    told = {"space": egret.Interval(5, 50), "objective": egret.maximize(0, 50)}
    relation = duckdb.sql(f"select * from '{file}'")
    for table in [
        pandas.read_parquet(file),
        polars.read_parquet(file),
        polars.scan_parquet(file),
        pyarrow.parquet.read_table(file),
        pyarrow.dataset.dataset(file),
        relation,
    ]:
        assert egret.evaluate(table, "uniform", **told).table == expected, type(table)
    assert egret.evaluate([str(file)], ["uniform"]).table == expected
    with pytest.raises(egret.EgretError, match="a log is a path"):
        egret.evaluate(7, "uniform")


def test_a_function_of_the_table_is_a_policy(sold):
    """Prices from 5 to 27.5 alone: density 2 there, and 0 elsewhere."""
    file = sold / "log.parquet"
    told = {"space": egret.Interval(5, 50), "objective": egret.maximize(0, 50)}

    def low(log):
        prices = log["action"]
        prices = prices.to_pylist() if isinstance(log, pyarrow.Table) else prices.to_list()
        return [2.0 if price < 27.5 else 0.0 for price in prices]

    tables = [pandas.read_parquet(file), polars.read_parquet(file), pyarrow.parquet.read_table(file)]
    results = [egret.evaluate(table, {"low": low}, **told).table for table in tables]
    assert results[0] == results[1] == results[2]
    assert 0 < results[0][0]["zero_share"] < 1
    with pytest.raises(egret.EgretError, match="read the log first"):
        egret.evaluate(file, {"low": low})


def test_audit_is_that_of_the_command(sold, command):
    here = egret.audit(sold / "log.parquet", models=[sold / "start.egret"], relearn=True)
    there = command("audit", sold / "log.parquet", "--model", sold / "start.egret", "--relearn", "--json")
    assert here.to_dict() == json.loads(there)
    assert not here.alarm and here.to_dict()["replay"]["equal"] == 1_500
    assert "Verdict" in repr(here) and "<svg" in here._repr_html_()
    wrong = pandas.read_parquet(sold / "log.parquet")
    wrong["density"] *= 2
    assert egret.audit(wrong).alarm


def test_training_is_that_of_the_command(sold, command):
    there = sold / "there.egret"
    command("learn", sold / "log.parquet", "-o", there, "--seed", 3, "--epochs", 2)
    here = egret.train(sold / "log.parquet", seed=3, epochs=2)
    assert here.model.to_bytes() == there.read_bytes()
    assert "rows for train" in repr(here) and here.to_frame().shape[0] <= 2
    assert here.model.best(customers(1)[0]) > 5
    frame = pandas.read_parquet(sold / "log.parquet")
    by_table = egret.train(frame, space=egret.Interval(5, 50), objective=egret.maximize(0, 50), oracle="ridge")
    assert "ridge" in repr(by_table)


def test_selection_is_that_of_the_command(sold, command):
    found = egret.select(sold / "log.parquet", ["ridge", ("ridge", "dm")])
    there = sold / "best.egret"
    command("select", sold / "log.parquet", "--oracle", "ridge", "--method", "ips,dm", "-o", there)
    assert found.model.to_bytes() == there.read_bytes()
    assert len(found.table) == 2 and sum(row["winner"] for row in found.table) == 1
    assert "candidate" in repr(found) and "<svg" in found._repr_html_()
    assert found.model.best(customers(1)[0]) >= 5


def test_training_takes_the_features_of_items(tmp_path):
    space = egret.Items(numpy.arange(12.0).reshape(6, 2))
    with egret.Model(space, 1, log=tmp_path / "events") as model:
        for _ in range(200):
            decision = model.decide([1.0])
            model.learn(decision, 0.1 if decision.action == 5 else 0.9)
    trained = egret.train(tmp_path / "events", space=space, oracle="ridge")
    assert trained.model.best([1.0]) == 5


def test_summary(sold, command):
    here = egret.summarize(sold / "log.parquet")
    assert here.to_dict() == json.loads(command("log", "stats", sold / "log.parquet", "--json"))
    assert here.rows == 1_500 and "1500" in repr(here)
    with pytest.raises(AttributeError):
        here.nonsense


def test_mistakes_name_the_field(sold, tmp_path):
    with pytest.raises(egret.EgretError, match="estimators: dr needs predictions"):
        egret.evaluate(sold / "log.parquet", "uniform", estimators=["dr"])
    with pytest.raises(egret.EgretError, match="level"):
        egret.evaluate(sold / "log.parquet", "uniform", level=2)
    with pytest.raises(egret.EgretError, match="no policy is called"):
        egret.evaluate(sold / "log.parquet", "unifrom")
    (tmp_path / "bad.jsonl").write_text('{"context": [1], "action": 0.5, "density": -1}\n')
    with pytest.raises(egret.LogError, match="bad.jsonl.*density"):
        egret.evaluate(tmp_path / "bad.jsonl", "uniform")
    with pytest.raises(egret.LogError):
        egret.summarize(tmp_path / "absent.parquet")


def test_progress_is_told_and_can_end_the_job(sold):
    heard = []
    egret.summarize(sold / "log.parquet", progress=lambda *step: heard.append(step))
    assert heard[-1] == ("read", 1.0, 1.0)

    def stop(what, done, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        egret.train(sold / "log.parquet", progress=stop)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_ctrl_c_ends_a_job_whose_work_is_on_other_threads():
    chance, count = numpy.random.default_rng(5), 20_000
    log = pyarrow.table(
        {
            "context": pyarrow.array(chance.random((count, 3)).tolist()),
            "action": chance.random(count),
            "density": numpy.ones(count),
            "loss": chance.random(count),
        }
    )
    heard = []

    def listen(what, done, of):
        if what == "trained" and not any(step[0] == "trained" for step in heard):
            # On another thread, as the one that is heard of is the main one.
            signal.raise_signal(signal.SIGINT)
        heard.append((what, done, of))

    with pytest.raises(KeyboardInterrupt):
        egret.select(log, space=egret.Interval(0, 1), progress=listen)
    # After an epoch of the first, not after all nine.
    trained = [done for what, done, _ in heard if what == "trained"]
    assert trained[0] == 0 and max(trained) < 9, heard


def test_reports_are_drawn_by_matplotlib_or_as_svg(tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    shop(300, log=tmp_path / "events").close()
    found = egret.evaluate(tmp_path / "events", ["uniform", "logged"])
    axes = found.plot()
    assert axes.get_title() == "Value of each policy"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["normal", "betting"]
    # One point for each finite row, at its estimate.
    drawn = sorted(x for container in axes.containers for x in container.lines[0].get_xdata())
    assert drawn == sorted(row["estimate"] for row in found.table)
    assert axes is found.plot(ax=axes)
    assert egret.audit(tmp_path / "events").plot().get_yscale() == "log"
    summary = egret.summarize(tmp_path / "events")
    (density, _) = summary.plot().get_lines()
    assert density.get_ydata()[3] == summary.density["median"]
    trained = egret.train(tmp_path / "events", epochs=1)
    assert trained.plot().get_title() == "Value of the model" and "<svg" in trained._repr_html_()
    assert "effective_events" in repr(summary)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    assert found.plot()._repr_svg_().startswith("<svg")


def test_progress_is_shown(tmp_path, capfd, monkeypatch):
    shop(300, log=tmp_path / "events").close()
    egret.train(tmp_path / "events", epochs=2, progress=True)
    shown = capfd.readouterr().err
    assert "read: 100%" in shown and "epochs" in shown
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    egret.train(tmp_path / "events", epochs=2, progress=True)
    assert capfd.readouterr().err.startswith("\rread 100%")
    egret.train(tmp_path / "events", epochs=2, progress=False)
    assert not capfd.readouterr().err


def test_the_logger_hears_what_was_read_and_skipped(tmp_path, caplog):
    with egret.LogWriter(tmp_path / "log.jsonl", egret.Interval(5, 50)) as writer:
        writer.write({}, action=20.0, density=1.0, outcome=0.5)
    with open(tmp_path / "log.jsonl", "a") as file:
        file.write("{\n")
    with caplog.at_level("INFO", logger="egret"):
        egret.summarize(tmp_path / "log.jsonl", skip_bad=tmp_path / "bad.jsonl")
        egret.evaluate(tmp_path / "log.jsonl", "uniform", skip_bad=tmp_path / "bad-2.jsonl")
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert ("INFO", f"summarize: reading {tmp_path / 'log.jsonl'}") in said
    assert ("INFO", "Summary: 1 events") in said
    assert ("WARNING", "1 rows were not records, and are left out") in said
    assert any(level == "WARNING" and "one event has" in words for level, words in said)
    assert any(level == "WARNING" and "bad-2.jsonl" in words for level, words in said)
