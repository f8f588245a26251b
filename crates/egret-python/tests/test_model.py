"""Deciding and learning."""

import copy
import datetime
import json
import pickle
import threading

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import scipy.sparse
from conftest import customers, revenue, shop

import egret


def test_decisions_are_those_of_the_command_to_the_bit(command, tmp_path):
    model = shop(200)
    model.save(tmp_path / "model.egret")
    contexts = tmp_path / "contexts.jsonl"
    contexts.write_text("".join(json.dumps(customer) + "\n" for customer in customers(300)))
    printed = command("decide", contexts, "--model", tmp_path / "model.egret", "--json")
    lines = [json.loads(line) for line in printed.splitlines()]
    batch = copy.copy(model).decide_batch(customers(300))
    one_by_one = [model.decide(customer) for customer in customers(300)]
    assert len(lines) == len(batch) == 300
    assert lines[0]["event"] == 200
    for line, many, one in zip(lines, batch, one_by_one):
        assert (line["event"], line["action"], line["density"]) == (many.event, many.action, many.density)
        assert many.to_dict() == one.to_dict()
    assert batch.actions.tolist() == [line["action"] for line in lines]
    assert batch.densities.tolist() == [line["density"] for line in lines]
    assert batch.events.tolist() == list(range(200, 500))


@pytest.mark.parametrize(
    ("space", "kind"),
    [
        (egret.Interval(5, 50), float),
        (egret.LogInterval(1e3, 1e9), float),
        (egret.Steps(5, 50, 0.5), float),
        (egret.TruncatedNormal(20, 5, 5, 50), float),
        (egret.Beta(2, 3, 5, 50), float),
        (egret.Box([(1, 16), (1, 64)]), np.ndarray),
        (egret.Simplex(3), np.ndarray),
        (egret.Sphere(3), np.ndarray),
        (egret.Items([{"genre": "drama", "price": 9.9}, {"genre": "comedy", "price": 4.5}]), int),
        (egret.Items(np.eye(4), weights=[1, 2, 3, 4]), int),
        (egret.Knobs(price=egret.Steps(5, 50, 0.5), colour=["red", "blue"], speed=(0, 1)), dict),
        (egret.Subsets(np.eye(5), 2), list),
    ],
)
def test_every_space_decides_learns_and_goes_on_after_pickling(space, kind, command, tmp_path):
    model = egret.Model(space, seed=3)
    for n in range(30):
        decision = model.decide([n % 3, 1.0])
        assert isinstance(decision.action, kind)
        assert decision.density > 0
        model.learn(decision, 0.5 + 0.5 * (n % 2))
    again = pickle.loads(pickle.dumps(model))
    assert again.next_event == 30
    assert again.content_hash() == model.content_hash()
    assert again.space == model.space == pickle.loads(pickle.dumps(space))
    batch = again.decide_batch(np.array([[1, 1], [2, 1]]))
    expected = [model.decide([1, 1]), model.decide([2, 1])]
    assert [one.to_dict() for one in batch] == [one.to_dict() for one in expected]
    assert np.array_equal(batch.actions, np.array([one.action for one in expected]))
    predicted = model.predict([1, 1], [one.action for one in expected])
    assert predicted.shape == (2,) and np.all((0 <= predicted) & (predicted <= 1))
    assert np.array_equal(np.asarray(model.best([1, 1])), np.asarray(again.best_batch([[1, 1]])[0]))
    model.save(tmp_path / "model.egret")
    (tmp_path / "x.jsonl").write_text("[1, 1]\n")
    line = json.loads(command("decide", tmp_path / "x.jsonl", "--model", tmp_path / "model.egret", "--json"))
    assert line["density"] == model.decide([1, 1]).density


def test_it_learns():
    model = shop(3_000)
    last = [model.decide(customer) for customer in customers(500)]
    mean = np.mean([revenue(n, decision.action) for n, decision in enumerate(last)])
    assert 20 < mean, f"uniform prices earn 10.4, and the best 30: {mean}"
    assert model.best({"income": 80_000, "country": "NZ", "returning": True}) > model.best(
        {"income": 20_000, "country": "NZ", "returning": True}
    )


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    assert shop(50).content_hash() == shop(50).content_hash()
    assert shop(50).content_hash() != shop(50, seed=8).content_hash()


def test_a_batch_is_learned_in_one_step():
    one, many = shop(0), shop(0)
    decisions = many.decide_batch(customers(64))
    outcomes = [revenue(n, action) for n, action in enumerate(decisions.actions)]
    many.learn_batch(decisions, np.array(outcomes))
    assert many.batches_learned == 1
    one.learn_batch([one.decide(customer) for customer in customers(64)], outcomes)
    assert one.content_hash() == many.content_hash()
    partly = shop(0)
    decisions = partly.decide_batch(customers(2))
    partly.learn_batch(decisions, [10.0, np.nan])
    alone = shop(0)
    decision = alone.decide(customers(1)[0])
    alone.learn(decision, 10.0)
    assert partly.content_hash() == alone.content_hash()


def test_tables_are_contexts():
    rows = customers(40)
    expected = shop(20).decide_batch(rows).actions
    for table in [pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.Table.from_pylist(rows)]:
        assert np.array_equal(shop(20).decide_batch(table).actions, expected), type(table)
    frame = pandas.DataFrame(rows)
    assert np.isnan(frame["income"][0]), "pandas has NaN where a number is missing"
    assert shop(20).decide(frame.iloc[3]).action == shop(20).decide(rows[3]).action


def test_matrices_are_contexts():
    rows = [[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]

    def actions(contexts):
        return egret.Model(egret.Interval(0, 1), 3).decide_batch(contexts).actions.tolist()

    expected = actions(rows)
    for contexts in [np.array(rows), np.array(rows, dtype="float32"), np.array(rows, dtype=int), np.asfortranarray(rows)]:
        assert actions(contexts) == expected
    model = egret.Model(egret.Interval(0, 1), 3)
    assert [model.decide(np.array(row)).action for row in rows] == expected
    sparse = scipy.sparse.csr_matrix(rows)
    assert actions(sparse) == expected == actions(scipy.sparse.coo_array(rows))
    assert egret.Model(egret.Interval(0, 1), 3).decide(sparse[0]).action == expected[0]


def test_values_of_every_kind_are_features():
    when = datetime.datetime(2026, 5, 4, 12, 30)
    plain = {"flag": True, "count": 3, "share": 0.5, "when": when.isoformat(), "words": ["a", "b"], "inner": {"x": 1}}
    fancy = {
        "flag": np.bool_(True),
        "count": np.int32(3),
        "share": np.float32(0.5),
        "when": when,
        "words": np.array(["a", "b"]),
        "inner": {"x": np.uint8(1)},
        "nothing": None,
        "nan": float("nan"),
        "na": pandas.NA,
        "nat": pandas.NaT,
    }
    schema = egret.Schema.infer([plain])
    decide = egret.Model(egret.Interval(0, 1), schema).decide
    again = egret.Model(egret.Interval(0, 1), schema).decide
    assert decide(fancy).action == again(plain).action
    assert decide({"count": 2**70}).context == {"count": str(2**70)}


def test_a_schema_is_declared_inferred_or_found():
    declared = egret.Schema({"income": "number", "country": ["NZ", "AU"], "v": 3, "id": "hashed"}, strict=True)
    assert declared.names == ["income", "country", "v", "id"]
    assert egret.Schema.from_json(declared.to_json()) == declared == pickle.loads(pickle.dumps(declared))
    assert egret.Schema.infer(pandas.DataFrame(customers(50))).names == ["country", "income", "returning"]
    with pytest.raises(egret.EgretError, match="country"):
        egret.Model(egret.Interval(0, 1), declared).decide({"income": 1})
    model = egret.Model(egret.Interval(0, 1), infer_after=20)
    assert model.features is None
    for customer in customers(19):
        model.decide(customer)
    assert model.features.names == []
    model.decide(customers(1)[0])
    assert model.features.names == ["country", "income", "returning"]


def test_densities_of_any_action_are_those_of_decisions():
    for space in [egret.Interval(5, 50), egret.Items(np.eye(6)), egret.Box([(0, 1), (0, 2)])]:
        model = egret.Model(space, 2, seed=4)
        for n in range(200):
            decision = model.decide([n % 3, 1.0])
            model.learn(decision, 0.1 * (n % 7))
        decision = model.decide([1.0, 1.0])
        # Taus are drawn anew for each decision, and the density is over all of them.
        assert 0.2 < model.density([1.0, 1.0], decision.action) / decision.density < 5, space
    with pytest.raises(egret.EgretError, match="not in the action space"):
        egret.Model(egret.Interval(5, 50), 1).density([1.0], 51.0)


def test_limits_are_kept():
    model = egret.Model(egret.Interval(5, 50))
    for _ in range(20):
        assert 9 <= model.decide([1.0], limits=(9, 11)).action <= 11
    decision = model.decide([1.0], limits={"interval": {"low": 9.5, "high": 9.5}})
    assert (decision.action, decision.density) == (9.5, 1.0)
    items = egret.Model(egret.Items(np.eye(3)))
    assert items.decide([1.0], limits={"items": {"allowed": [1]}}).action == 1


def test_decisions_can_be_pickled_and_learned_elsewhere():
    here, there = shop(10), shop(10)
    decision = here.decide(customers(1)[0])
    there.decide(customers(1)[0])
    here.learn(decision, 12.0)
    there.learn(pickle.loads(pickle.dumps(decision)), 12.0)
    assert here.content_hash() == there.content_hash()


def test_mistakes_are_told_and_change_nothing():
    model = shop(10)
    before, number = model.content_hash(), model.next_event
    decision = model.decide(customers(1)[0])
    for outcome in (51.0, -1.0, float("nan")):
        with pytest.raises(egret.EgretError):
            model.learn(decision, outcome)
    with pytest.raises(ValueError, match="feature"):
        model.decide({"income": object()})
    with pytest.raises(egret.EgretError, match="dict of named features"):
        model.decide("NZ")
    with pytest.raises(egret.EgretError, match="row 1"):
        model.decide_batch([customers(1)[0], [1.0, 2.0]])
    with pytest.raises(egret.EgretError, match="one for each"):
        model.learn_batch([decision], [1.0, 2.0])
    assert (model.content_hash(), model.next_event) == (before, number + 1)
    model.learn(decision, 12.0)
    with pytest.raises(egret.EgretError, match="already"):
        model.learn(decision, 12.0)
    assert model.batches_learned == 11
    with pytest.raises(egret.EgretError, match="no context yet"):
        egret.Model(egret.Interval(0, 1)).best([1.0])
    with pytest.raises(egret.EgretError, match="missing need names"):
        egret.Model(egret.Interval(0, 1)).decide(np.array([np.nan]))
    with pytest.raises(egret.EgretError, match="low"):
        egret.Interval(2, 1)


def test_clipping_objectives_take_any_outcome():
    objective = egret.minimize(0, 250, clip=True)
    assert (objective.loss(900), objective.loss(125)) == (1.0, 0.5)
    assert pickle.loads(pickle.dumps(objective)) == objective != egret.minimize(0, 250)


def test_threads_share_a_model():
    model = shop(20)
    decided: list[egret.Decision] = []

    def work() -> None:
        for customer in customers(200):
            decision = model.decide(customer)
            decided.append(decision)
            model.learn(decision, 1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(decision.event for decision in decided) == list(range(20, 820))
    assert model.batches_learned == 820


def test_help_teaches():
    for name in egret.__all__:
        assert (getattr(egret, name).__doc__ or "").strip(), name
    for name in ("decide", "decide_batch", "learn", "learn_batch", "predict", "best", "save", "load", "flush", "close"):
        assert (getattr(egret.Model, name).__doc__ or "").strip(), name
