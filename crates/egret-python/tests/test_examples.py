"""The examples run, and so does every example in help() and in the README."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import egret

HOME = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, HOME / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_price_a_product(tmp_path, capsys):
    load("price_a_product").main(tmp_path, 3_000)
    printed = capsys.readouterr().out
    first, last = map(float, re.findall(r"([\d.]+) at", printed)[:2])
    assert first < last, printed
    assert "the best of 16" in printed


def test_own_log(capsys):
    own = load("own_log")
    own.main(4_000)
    assert "rule" in capsys.readouterr().out
    log = own.last_year(200_000)
    found = egret.evaluate(log, {"rule": own.rule}, space=own.PRICES, objective=own.REVENUE).table[0]
    chance = own.np.random.default_rng(5)
    worth = 8 + chance.lognormal(10.5, 0.5, 1_000_000) / 2_500 + chance.normal(0, 3, 1_000_000)
    price = chance.uniform(10, 30, 1_000_000)
    truth = (price * (price < worth)).mean()
    assert found["low"] < truth < found["high"], (found, truth)


def test_own_model(monkeypatch):
    monkeypatch.syspath_prepend(HOME / "examples")
    rows = {row["policy"]: row for row in load("own_model").main(4_000).table if row["interval"] == "betting"}
    assert rows["any price"]["high"] < rows["mine"]["estimate"], rows


def test_choose_examples(tmp_path, capsys):
    choose = load("choose_examples")
    shares = choose.main(tmp_path / "events", rounds=3, questions=150)
    assert "chosen at random" in capsys.readouterr().out
    # Learned from 300 answers, the choice is right at least twice as often as at random.
    assert 2 * shares[0] < shares[2], shares
    # Densities: the log values random choice, of which the truth is known. A wrong z would be seen: 1/z is 2 and more.
    found = egret.evaluate(tmp_path / "events", "uniform", estimators=["ips"], intervals=["betting"]).table[0]
    questions = choose.directions(2_000, seed=4)
    sets = choose.np.random.default_rng(5).integers(0, choose.COUNT, (2_000, 1, choose.SIZE))
    truth = choose.np.mean([choose.right(*pair) for pair in zip(questions, sets)])
    assert found["low"] < truth < found["high"] < 2 * truth, (found, truth)
    assert not egret.audit(tmp_path / "events").alarm


def test_the_examples_of_help(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The log writer first: it leaves the log that the others read.
    names = ["LogWriter", *(name for name in egret.__all__ if name != "LogWriter")]
    shown = [egret, *(getattr(egret, name) for name in names)]
    runner, parser = doctest.DocTestRunner(), doctest.DocTestParser()
    examples = 0
    for thing in shown:
        text = (thing.__doc__ or "").replace("::\n", ":\n")
        test = parser.get_doctest(text, {"egret": egret}, getattr(thing, "__name__", ""), None, 0)
        examples += len(test.examples)
        runner.run(test)
    results = runner.summarize()
    assert results.failed == 0
    assert 10 <= examples


@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_the_programs_of_the_guide(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (HOME.parent.parent / name).read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert programs
    known: dict[str, object] = {}
    for program in programs:
        exec(compile(program, name, "exec"), known)
