"""pyarrow, pandas, polars and DuckDB read egret's Parquet files, and egret reads theirs: the same numbers, bit for bit."""

import datetime
import json
import math

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from command import SCRATCH, demo_log, egret, records, refused

NUMBERS = ["action", "density", "g", "tau", "tauProb", "gamma", "beta", "kappaInf", "delta", "z", "loss", "outcome", "largestInverseDensity", "q_rule"]
COUNTS = ["v", "event", "seq", "tauIndex", "betaDraws", "proposals", "zDraws", "seed", "batchesLearned", "settingsVersion"]
WORDS = ["loop", "eventId", "propensity", "densityKind", "certificate", "rng", "mode", "lossSource", "schemaHash", "modelHash"]


def test_everyone_reads_what_egret_writes():
    log = demo_log()
    truth = records(log)
    assert len(truth) == 4000
    read = {
        "pyarrow": pq.read_table(log).to_pylist(),
        "pandas": pd.read_parquet(log).to_dict("records"),
        "polars": pl.read_parquet(log).to_dicts(),
        "duckdb": duckdb.sql(f"select * from '{log}'").arrow().read_all().to_pylist(),
    }
    for package, rows in read.items():
        assert len(rows) == len(truth), package
        for row, expected in zip(rows, truth):
            for name in NUMBERS:
                assert row[name] == expected[name], (package, name, row[name], expected[name])
            for name in COUNTS:
                assert int(row[name]) == expected[name], (package, name)
            for name in WORDS:
                assert row[name] == expected[name], (package, name)
            told = {name: value for name, value in row["context"].items() if value is not None}
            assert told == expected["context"], package
    columns = pq.read_schema(log)
    assert columns.field("density").type == pa.float64()
    assert columns.field("seq").type == pa.uint64()
    assert columns.field("time").type == pa.timestamp("us", "UTC")
    assert pa.types.is_struct(columns.field("context").type)
    metadata = pq.read_metadata(log)
    assert metadata.metadata[b"egret.version"] == b"1"
    assert json.loads(metadata.metadata[b"egret.mu"]) == {"interval": {"low": 5.0, "high": 50.0}}
    assert json.loads(metadata.metadata[b"egret.objective"])["direction"] == "maximize"
    chunk = metadata.row_group(0).column(columns.get_field_index("loop"))
    assert chunk.compression == "ZSTD" and chunk.statistics.has_min_max


def test_named_features_are_columns():
    log = SCRATCH / "dense.jsonl"
    rows = [{"context": [0.5, row, row / 7], "action": 0.5, "density": 2.0, "loss": 0.25} for row in range(500)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = [f"feature {place}" for place in range(3)]
    named = SCRATCH / "named.parquet"
    egret("log", "convert", log, "-o", named, "--features", ",".join(names))
    context = pq.read_table(named)["context"].to_pylist()
    assert [list(row.values()) for row in context] == [row["context"] for row in records(log)]
    assert list(context[0]) == names
    query = duckdb.sql(f"""select context."feature 0" from '{named}' limit 1""").fetchall()
    assert query[0][0] == context[0]["feature 0"]
    assert [row["context"] for row in records(named)] == context


def test_named_contexts_are_typed_columns():
    contexts = [
        {"age": 31, "size": 0.5, "country": "NZ", "new": True, "tags": ["a", "b"], "vector": [1.0, 2.5], "user": {"visits": 3}},
        {"age": 40, "size": 2, "country": None, "new": False, "tags": [], "user": {"visits": 4}},
        {"age": "unknown", "size": 1.5, "odd": [1, "a"]},
    ]
    row = {"action": 0.5, "density": 2.0, "loss": 0.25}
    lines, log = SCRATCH / "named.jsonl", SCRATCH / "typed.parquet"
    lines.write_text("".join(json.dumps(dict(row, context=context)) + "\n" for context in contexts))
    egret("log", "convert", lines, "-o", log)
    columns = {field.name: field.type for field in pq.read_schema(log).field("context").type}
    lists = {name: columns.pop(name) for name in ("tags", "vector")}
    assert columns == {
        "age": pa.int64(),
        "country": pa.string(),
        "new": pa.bool_(),
        "size": pa.float64(),
        "user.visits": pa.int64(),
    }
    assert lists["tags"].value_type == pa.string() and lists["vector"].value_type == pa.float64()
    frame = pd.read_parquet(log)
    assert [x["age"] for x in frame["context"]] == [31, 40, None]
    assert [x["size"] for x in frame["context"]] == [0.5, 2.0, 1.5]
    assert [x["user.visits"] for x in frame["context"]] == [3, 4, None]
    assert list(frame["context"][0]["tags"]) == ["a", "b"] and list(frame["context"][0]["vector"]) == [1.0, 2.5]
    assert frame["contextRest"][:2].isna().all()
    assert json.loads(frame["contextRest"][2]) == {"age": "unknown", "odd": [1, "a"]}
    query = duckdb.sql(f"""select context.country, context."user.visits" from '{log}'""").fetchall()
    assert query == [("NZ", 3), (None, 4), (None, None)]
    expected = [{name: value for name, value in x.items() if value is not None and name != "user"} for x in contexts]
    for x, visits in zip(expected, [3, 4]):
        x["user.visits"] = visits
    assert [found["context"] for found in records(log)] == expected
    # Rows of pandas, as it writes them.
    frame.to_parquet(log)
    assert [found["context"] for found in records(log)] == expected
    frame.to_json(lines, orient="records", lines=True)
    missing = [{name: value for name, value in found["context"].items() if value is not None} for found in records(lines)]
    assert missing == expected


def rows_from_elsewhere(count: int = 500) -> dict:
    random = np.random.default_rng(7)
    point_mass = np.arange(count) % 10 == 4
    return {
        "seq": list(range(count)),
        "action": random.uniform(0, 10, count).tolist(),
        "density": [None if a else float(p) for a, p in zip(point_mass, random.uniform(0.1, 3, count))],
        "propensity": ["pointMass" if a else "density" for a in point_mass],
        "context": random.normal(size=(count, 3)).tolist(),
        "loss": [None if i % 50 == 7 else float(x) for i, x in enumerate(random.uniform(0, 1, count))],
        "label": [f"kind {i % 3}" for i in range(count)],
        "q": random.uniform(0, 2, count).tolist(),
    }


def same(found: list[dict], rows: dict, tolerance: float = 0.0):
    assert len(found) == len(rows["seq"])
    for place, record in enumerate(found):
        for name in rows:
            value, expected = record.get(name), rows[name][place]
            if isinstance(expected, float):
                assert math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance), (name, value, expected)
            elif isinstance(expected, list):
                assert np.allclose(value, expected, rtol=tolerance, atol=tolerance), (name, value, expected)
            else:
                assert value == expected, (name, value, expected)


def test_egret_reads_pyarrow_with_any_codec_and_type():
    rows = rows_from_elsewhere()
    log = SCRATCH / "pyarrow.parquet"
    for codec in ["none", "snappy", "gzip", "lz4", "zstd"]:
        for version in ["1.0", "2.0"]:
            pq.write_table(pa.table(rows), log, compression=codec, data_page_version=version, row_group_size=77)
            same(records(log), rows)
    small = pa.float32()
    odd = {
        "seq": pa.array(rows["seq"], pa.int32()),
        "action": pa.array(rows["action"], small),
        "density": pa.array(rows["density"], small),
        "propensity": pa.array(rows["propensity"]).dictionary_encode(),
        "context": pa.array(rows["context"], pa.large_list(small)),
        "loss": pa.array(rows["loss"], small),
        "label": pa.array(rows["label"], pa.large_string()),
        "q": pa.array(rows["q"], small),
        "time": pa.array([datetime.datetime(2026, 1, 2, 3, 4, 5)] * len(rows["seq"]), pa.timestamp("ns")),
    }
    pq.write_table(pa.table(odd), log)
    found = records(log)
    same(found, rows, 1e-6)
    assert found[0]["time"] == "2026-01-02T03:04:05Z"
    fixed = dict(odd, context=pa.array(rows["context"], pa.list_(pa.float64(), 3)), label=pa.array(rows["label"], pa.string_view()))
    pq.write_table(pa.table(fixed), log)
    same(records(log), rows, 1e-6)
    struct = [dict(zip(["a", "b", "c"], row)) for row in rows["context"]]
    pq.write_table(pa.table(dict(rows, context=struct)), log)
    same([dict(record, context=list(record["context"].values())) for record in records(log)], rows)


def test_egret_reads_structs_of_any_type():
    time = datetime.datetime(2026, 1, 2, 3, 4, 5)
    fields = {
        "n": pa.array([1, 2], pa.int8()),
        "t": pa.array(["a", None]).dictionary_encode(),
        "l": pa.array([[1, 2], None], pa.large_list(pa.int16())),
        "o": pa.array([{"b": True, "c": None}] * 2),
        "when": pa.array([time, None], pa.timestamp("ms")),
    }
    log = SCRATCH / "struct.parquet"
    context = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    pq.write_table(pa.table({"context": context, "action": [0.5, 0.5], "density": [1.0, 1.0]}), log)
    assert [record["context"] for record in records(log)] == [
        {"n": 1, "t": "a", "l": [1, 2], "o": {"b": True}, "when": "2026-01-02T03:04:05Z"},
        {"n": 2, "o": {"b": True}},
    ]


def test_egret_reads_pandas_polars_and_duckdb():
    rows = rows_from_elsewhere()
    log = SCRATCH / "theirs.parquet"
    frame = pd.DataFrame(rows)
    # Whole numbers with gaps are floats in pandas.
    frame["settingsVersion"] = [None if i % 2 else 3 for i in range(len(frame))]
    frame.to_parquet(log)
    found = records(log)
    same(found, rows)
    assert [record.get("settingsVersion") for record in found[:2]] == [3, None]
    pl.DataFrame(rows).write_parquet(log)
    same(records(log), rows)
    theirs = pa.table(rows)
    assert len(theirs) == 500
    duckdb.sql(f"copy (select * from theirs) to '{log}' (format parquet)")
    same(records(log), rows)
    # Decimals, as a literal in a query is.
    duckdb.sql(f"copy (select * replace (0.25 as loss) from theirs) to '{log}' (format parquet)")
    same(records(log), dict(rows, loss=[0.25] * len(rows["seq"])))
    # JSON lines of pandas and polars.
    lines = SCRATCH / "theirs.jsonl"
    pd.DataFrame(rows).to_json(lines, orient="records", lines=True, double_precision=15)
    same(records(lines), rows, 1e-12)  # pandas writes 15 digits
    pl.DataFrame(rows).write_ndjson(lines)
    same(records(lines), rows)


def test_a_bad_row_is_named_or_kept_aside():
    rows = rows_from_elsewhere()
    rows["density"][123] = -1.0
    log, out, aside = SCRATCH / "bad.parquet", SCRATCH / "good.parquet", SCRATCH / "aside.jsonl"
    pq.write_table(pa.table(rows), log)
    error = refused("log", "convert", log, "-o", out)
    assert "bad.parquet, row 124: density is -1, expected a number in (0, inf)" in error, error
    assert "--skip-bad" in error and not out.exists()
    told = json.loads(egret("log", "convert", log, "-o", out, "--skip-bad", aside, "--json"))
    assert (told["rows"], told["skipped"]) == (499, 1)
    [kept] = [json.loads(line) for line in aside.read_text().splitlines()]
    assert kept["row"] == 124 and kept["content"]["action"] == rows["action"][123]
    assert len(pq.read_table(out)) == 499


def test_stats_are_numpy_s():
    log = demo_log()
    told = json.loads(egret("log", "stats", log, "--json"))
    table = pq.read_table(log).to_pandas()
    assert told["rows"] == len(table)
    assert math.isclose(told["outcome_mean"], table["outcome"].mean(), rel_tol=1e-12)
    assert math.isclose(told["kappa_mean"], (1 / table["z"]).mean(), rel_tol=1e-12)
    assert told["density"]["min"] == table["density"].min()
    assert math.isclose(told["density"]["median"], table["density"].median(), rel_tol=5e-3)
    assert told["seq"] == {"first": 0, "last": 3999, "missing": 0, "out_of_order": 0, "without": 0}


def test_parts_merge_to_the_whole():
    rows = records(demo_log())
    parts = [rows[0:2000:2], rows[1:2000:2], rows[1990:3000], rows[3010:]]
    files = []
    for place, part in enumerate(parts):
        files.append(SCRATCH / f"part-{place}.jsonl")
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in part))
    out = SCRATCH / "merged.parquet"
    told = json.loads(egret("log", "merge", *files, "-o", out, "--json"))
    assert (told["rows"], told["duplicates"]) == (3990, 10)
    assert records(out) == rows[:3000] + rows[3010:]
    assert json.loads(egret("log", "stats", out, "--json"))["seq"]["missing"] == 10


if __name__ == "__main__":
    for name, value in list(globals().items()):
        if name.startswith("test_"):
            value()
