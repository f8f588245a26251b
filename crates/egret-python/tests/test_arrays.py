"""Arrays of numpy and scipy: read where they lie in memory, and given away without a copy."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse

import egret

ROWS = np.random.default_rng(3).normal(size=(200, 6)).round(1).astype("float32")


def misaligned(rows):
    numbers = np.frombuffer(b"." + rows.tobytes(), dtype=rows.dtype, offset=1).reshape(rows.shape)
    assert not numbers.flags.aligned
    return numbers


def frozen(rows):
    rows.setflags(write=False)
    return rows


def every_second(rows):
    return np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2]


#: The same numbers: where they lie row after row as 64-bit floats, and where they have to be copied.
LAYOUTS = {
    "in place": lambda rows: rows.copy(),
    "read only": lambda rows: frozen(rows.copy()),
    "by column": np.asfortranarray,
    "every second": every_second,
    "backwards": lambda rows: rows[::-1].copy()[::-1],
    "float32": lambda rows: rows.astype("float32"),
    "big endian": lambda rows: rows.astype(">f8"),
    "misaligned": misaligned,
    "objects": lambda rows: rows.astype(object),
}


def model(**options):
    return egret.Model(egret.Interval(0, 1), 6, seed=5, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_bits(layout):
    rows = ROWS.astype(float)
    given = LAYOUTS[layout](rows)
    expected, found = model(), model()
    plain, decided = expected.decide_batch(rows.tolist()), found.decide_batch(given)
    assert [one.to_dict() for one in plain] == [one.to_dict() for one in decided]
    assert decided[7].context == rows[7].tolist()
    outcomes = np.abs(decided.actions - 0.3)
    expected.learn_batch(plain, outcomes.tolist())
    found.learn_batch(decided, np.repeat(outcomes, 2)[::2])
    assert expected.content_hash() == found.content_hash()
    assert found.best_batch(given).tolist() == [expected.best(row) for row in rows.tolist()]
    assert found.best(given[3]) == expected.best(rows[3].tolist())
    assert found.decide(given[3]).to_dict() == expected.decide(rows[3].tolist()).to_dict()
    prices = np.linspace(0, 1, 6)
    assert found.predict(given[3], prices).tolist() == expected.predict(rows[3].tolist(), prices.tolist()).tolist()


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_sparse_matrices_give_the_same_bits(index):
    rows = np.where(np.abs(ROWS) < 1, 0, ROWS).astype(float)
    sparse = scipy.sparse.csr_matrix(rows)
    sparse.indices, sparse.indptr = sparse.indices.astype(index), sparse.indptr.astype(index)
    context = model().decide_batch(sparse)[7].context
    assert context == {"dim": 6, "indices": np.flatnonzero(rows[7]).tolist(), "values": rows[7][rows[7] != 0].tolist()}
    expected = [one.to_dict() for one in model().decide_batch([row for row in sparse])]
    for given in (sparse, sparse.tocsc(), sparse.astype("float32"), scipy.sparse.coo_array(rows)):
        assert [one.to_dict() for one in model().decide_batch(given)] == expected
    assert model().best_batch(sparse).tolist() == [model().best(row) for row in sparse]
    with pytest.raises(egret.EgretError, match="this matrix has 200"):
        model().decide(sparse)


def test_vectors_and_items_are_taken_from_arrays():
    boxes, items = egret.Model(egret.Box([(0, 1), (0, 2)]), 1), egret.Model(egret.Items(np.eye(5)), 1)
    vectors = np.random.default_rng(1).random((20, 2))
    expected = boxes.predict([1.0], vectors.tolist())
    for given in (vectors, np.asfortranarray(vectors), list(vectors)):
        assert boxes.predict([1.0], given).tolist() == expected.tolist()
    expected = items.predict([1.0], [0, 3, 4])
    for given in (np.array([0, 3, 4]), np.array([0, 3, 4], dtype="uint8"), np.array([0.0, 3.0, 4.0])):
        assert items.predict([1.0], given).tolist() == expected.tolist()
    embeddings = np.random.default_rng(2).normal(size=(5, 3)).astype("float32")
    assert egret.Items(embeddings) == egret.Items(embeddings.astype(float)) == egret.Items(np.asfortranarray(embeddings))
    assert egret.Items(np.eye(3), weights=np.array([1, 2, 3])) == egret.Items(np.eye(3), weights=[1, 2, 3])


def test_arrays_that_are_given_away_are_the_callers_own():
    decisions = model().decide_batch(ROWS)
    for array in (decisions.actions, decisions.densities, decisions.events, model().predict(ROWS[0], [0.1, 0.2])):
        assert array.flags.writeable and array.flags.c_contiguous
        array[0] = 0
    assert 0 < decisions.densities[0] and decisions[0].density == decisions.densities[0]


def test_what_is_not_finite_is_told_with_its_row_and_makes_no_model():
    rows = ROWS.astype(float)
    rows[150, 4] = np.nan
    fresh = egret.Model(egret.Interval(0, 1))
    with pytest.raises(egret.EgretError, match="row 150: feature 4 is NaN.*need names"):
        fresh.decide_batch(rows)
    assert (fresh.features, fresh.next_event) == (None, 0)
    sparse = scipy.sparse.csr_matrix(rows)
    for refused in (rows, sparse):
        known = model()
        with pytest.raises(egret.EgretError, match="row 150: feature 4 is NaN"):
            known.decide_batch(refused)
        with pytest.raises(egret.EgretError, match="row 150: feature 4 is NaN"):
            known.best_batch(refused)
        assert known.next_event == 0
    asked = []
    own = egret.FunctionModel(egret.Interval(0, 1), lambda x, actions: asked.append(x) or actions)
    with pytest.raises(egret.EgretError, match="row 150: feature 4 is NaN"):
        own.decide_batch(rows)
    assert (own.next_event, asked) == (0, [])


def test_arrays_of_objects_and_masks():
    knobs = egret.Model(egret.Knobs(speed=(0, 1), colour=["red", "blue"]), 2)
    actions = np.empty(2, dtype=object)
    actions[:] = [{"speed": 0.5, "colour": "red"}, {"speed": 0.1, "colour": "blue"}]
    assert len(knobs.predict([0.0, 1.0], actions)) == 2
    with pytest.raises(TypeError, match="masked"):
        model().decide_batch(np.ma.masked_less(ROWS.astype(float), 0.5))


def test_decisions_keep_their_contexts_when_the_array_is_written_to():
    rows = ROWS.astype(float)
    here, there = model(), model()
    decided, kept = here.decide_batch(rows), there.decide_batch(rows.copy())
    rows[:] = 0.0
    here.learn_batch(decided, np.abs(decided.actions - 0.3))
    there.learn_batch(kept, np.abs(kept.actions - 0.3))
    assert here.content_hash() == there.content_hash()


def test_arrays_without_rows_or_columns():
    assert len(model().decide_batch(np.empty((0, 6)))) == 0
    assert model().best_batch(np.empty((0, 6))).shape == (0,)
    blind = egret.Model(egret.Interval(0, 1))
    assert len(blind.decide_batch(np.empty((3, 0)))) == 3 and blind.features == 0


MEASURED = """
import numpy as np
import egret

def most():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024

rows = np.random.default_rng(1).random((10_000, 2_000))
model = egret.Model(egret.Interval(0, 1), 2_000, oracle="argmin")
ask = getattr(model, "{call}")
ask(rows[:64])
before = most()
kept = ask(rows)
print((most() - before) / rows.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the most memory that was taken is told by /proc")
@pytest.mark.parametrize(("call", "share"), [("best_batch", 0.1), ("decide_batch", 1.2)])
def test_a_batch_is_not_copied(call, share):
    """Of 160 MB nothing is copied but the row that each decision keeps."""
    done = subprocess.run([sys.executable, "-c", MEASURED.format(call=call)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < share, done.stdout


def test_other_threads_run_while_a_batch_is_decided():
    batch = np.random.default_rng(1).random((100_000, 6))
    done, ticks = threading.Event(), 0

    def work():
        egret.Model(egret.Interval(0, 1), 6).decide_batch(batch)
        done.set()

    worker = threading.Thread(target=work)
    worker.start()
    while not done.wait(0.001):
        ticks += 1
    worker.join()
    assert 3 < ticks, ticks
