"""The examples and notebooks run, and so does every example in help() and in the README."""

import doctest
import importlib.util
import re
from pathlib import Path

import notebook
import pytest

import egret
import egret.coba
import egret.obp
import egret.sklearn
import egret.worlds

HOME = Path(__file__).parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, HOME / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: What each notebook is to show, asked where it ends.
SHOWN = {
    "price_a_product": """
assert by_fifth[0] < by_fifth[4], by_fifth
assert "the best of 16" in repr(found)
assert 5 <= served.best({"income": 20_000}) < served.best({"income": 80_000, "returning": True}) <= 50
""",
    "own_log": """
row = egret.evaluate(last_year(200_000), {"rule": rule}, columns=told).table[0]
chance = np.random.default_rng(5)
worth = 8 + chance.lognormal(10.5, 0.5, 1_000_000) / 2_500 + chance.normal(0, 3, 1_000_000)
price = chance.uniform(10, 30, 1_000_000)
truth = (price * (price < worth)).mean()
assert row["low"] < truth < row["high"], (row, truth)
""",
}


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks(name, tmp_path):
    notebook.run(name, SHOWN[name], tmp_path)


def test_every_notebook_is_run():
    """own_model by test_torch."""
    assert {file.stem for file in notebook.NOTEBOOKS.glob("*.ipynb")} == {*SHOWN, "own_model"}


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


def public():
    """All that help(egret) lists, by name."""
    yield "egret", egret
    yield from ((name, getattr(egret, name)) for name in egret.__all__)
    for module in (egret.coba, egret.obp, egret.sklearn, egret.worlds):
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) == module.__name__ and not name.startswith("_"):
                yield f"{module.__name__}.{name}", thing


def test_every_public_name_has_an_example_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner, parser = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL), doctest.DocTestParser()
    # The first leaves the log that others read.
    for name, thing in public():
        test = parser.get_doctest(thing.__doc__ or "", {"egret": egret}, name, None, 0)
        assert any(not example.options.get(doctest.SKIP) for example in test.examples), f"{name} has no example"
        runner.run(test)
    assert runner.summarize().failed == 0


def test_the_reference_has_every_public_name():
    """`cargo xtask test package` builds it."""
    listed = (HOME / "reference" / "index.rst").read_text()
    assert [name for name in egret.__all__ if f"egret.{name}\n" not in listed] == []


@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_the_programs_of_the_guide(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (HOME.parent.parent / name).read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert programs
    known: dict[str, object] = {}
    for program in programs:
        exec(compile(program, name, "exec"), known)
