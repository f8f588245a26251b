"""What a user asks of a log: from keywords to a request, from the answer to a report. The work is done in Rust."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from egret import _egret
from egret._egret import EgretError, Model, Objective, Schema, Space
from egret._progress import Progress, listener
from egret._reports import Audit, Evaluation, Report, Selection, Summary, Training

Log = Any  # A path, paths, or a table of pandas, polars, pyarrow or DuckDB.
ModelFile = Model | str | PathLike[str]
Columns = Mapping[str, object]

logger = logging.getLogger("egret")
logger.addHandler(logging.NullHandler())

#: What an oracle is fitted to, as the command has it.
METHODS: dict[str, Any] = {
    "dm": "direct_method",
    "ips": {"clipped_ips": {"cap": 5.0, "point_masses": "leave_out"}},
    "dr": {"doubly_robust": {"cap": 5.0, "folds": 4, "draws": 1}},
}
#: What select tries.
CANDIDATES = [(oracle, method) for oracle in ("default", "ridge", "fourier") for method in METHODS]


def evaluate(
    log: Log,
    policies: str | Sequence[str] | Mapping[str, object],
    *,
    estimators: Sequence[str] = (),
    intervals: Sequence[str] = ("normal", "betting"),
    level: float = 0.95,
    simultaneous: bool = False,
    against: str | None = None,
    from_seq: int | None = None,
    to_seq: int | None = None,
    by: str | None = None,
    window: int | None = None,
    outcomes: Mapping[str, Objective] | None = None,
    quantiles: Sequence[float] = (),
    worst: Sequence[float] = (),
    model: ModelFile | None = None,
    predicted: str | None = None,
    fit: bool = False,
    logged_by: Sequence[ModelFile] = (),
    stabilize: bool = False,
    weight_bound: float | None = None,
    replicates: int = 200,
    draws: int = 16,
    seed: int = 0,
    space: Space | None = None,
    objective: Objective | None = None,
    columns: Columns | None = None,
    estimate_density: bool = False,
    skip_bad: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """What other policies would have earned, had they decided in place of the one that did.

    log
        Files and folders, or a table of pandas, polars, pyarrow or DuckDB with the columns of a log.
    policies
        By name: the text of a policy as on the command line ("uniform", "column:q", "kernel:action=price"), one of
        best_of(model), smooth(model) and capped_igw(model), or, for a table, a function that takes the table and
        gives the density of the logged action of each row.
    estimators
        ips, snips, clipped-ips, switch, dm, dr, sndr, drs. By default snips and ips, with predictions also dr and sndr.
    intervals
        normal, asymptotic, bootstrap, empirical-bernstein, betting. Both asymptotic and betting ones hold at all numbers
        of events at once, so look and stop when you like: asymptotic ones for large numbers, as normal ones do.
    against
        Also the difference of each policy to the one of this name; "logged" is the policy that made the log.
    from_seq, to_seq
        Only events from this sequence number on, those that a model has not learned from, or before it.
    by, window
        Also each value of a field by itself, or each so many events (`.parts`).
    outcomes
        Also other columns of outcomes, each with its range, as in {"returns": egret.minimize(0, 50)} (`.outcomes`).
    quantiles, worst
        Also quantiles of the outcome, and the mean of the worst share of outcomes (`.distribution`).
    model, predicted, fit
        Predictions of outcomes: a model that has not learned from these events, a column, or a model that is fitted
        as the log is read, each event predicted after the events before it.
    logged_by
        Models that made the log, the one from before the first event among them: decisions are made again, which narrows the
        betting intervals of dr.
    space, objective
        Which actions there are and what outcomes are, for tables: egret's files say it, and frames of pandas and
        polars forget it.
    columns
        Which column is what, for tables and files that are not egret's: {"action": "price", "density": "p",
        "density_per_unit": True, "reward": "revenue", "reward_range": (0, 50), "context": ["age", "segment"],
        "space": egret.Interval(5, 50), "limits": "allowed", "time": "ts", "id": "order_id"}. Costs are "loss" and "loss_range".
    estimate_density
        Estimate the densities of actions from the log itself, where they were not kept. It is an assumption: what rests
        on it is never called reliable.
    skip_bad
        A file for rows that are no records. By default the first of them is an error.
    progress
        True shows how far it is. A function hears what is done, how much of it, and of how much.

    docs/offline.md says what each means, and what a verdict rests on.

    >>> found = egret.evaluate("events", {"blind": "uniform"}, against="logged")
    >>> [row["policy"] for row in found.table if row["interval"] == "betting"]
    ['blind', 'logged', 'blind − logged']
    """
    with _Scratch() as scratch:
        named = _named(policies)
        log, named = _with_densities(log, named)
        predictions: dict[str, str] | str | None = None
        parts: dict[str, object] | None = None
        if by is not None and window is not None:
            raise EgretError("a log is cut by a field or into windows: give one of them")
        if by is not None:
            parts = {"field": by}
        elif window is not None:
            parts = {"window": window}
        if fit + (model is not None) + (predicted is not None) > 1:
            raise EgretError("predictions come from a fit, a model or a column: give one of them")
        if model is not None:
            predictions = {"model": scratch.model(model)}
        elif predicted is not None:
            predictions = {"column": predicted}
        elif fit:
            predictions = "fit"
        request = {
            "log": scratch.log(log, skip_bad, space, objective, columns, estimate_density),
            "policies": [{"name": name, "policy": scratch.policy(policy)} for name, policy in named.items()],
            "estimators": list(estimators),
            "intervals": list(intervals),
            "level": level,
            "simultaneous": simultaneous,
            "against": against,
            "from_seq": from_seq,
            "to_seq": to_seq,
            "parts": parts,
            "outcomes": [
                {"column": column, "objective": json.loads(_egret.objective_json(str(objective)))}
                for column, objective in (outcomes or {}).items()
            ],
            "quantiles": list(quantiles),
            "worst": list(worst),
            "predictions": predictions,
            "logged_by": [scratch.model(one) for one in logged_by],
            "stabilize": stabilize,
            "weight_bound": weight_bound,
            "replicates": replicates,
            "draws": draws,
            "seed": seed,
        }
        return _told(Evaluation(scratch.run("evaluate", request, progress)[0]))


def audit(
    log: Log,
    *,
    models: Sequence[ModelFile] = (),
    relearn: bool = False,
    replay_every: int = 1,
    alpha: float = 0.01,
    least_density: float | None = None,
    space: Space | None = None,
    columns: Columns | None = None,
    skip_bad: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Whether a log is what it says: replays its decisions bit for bit, and tests the logged densities.

    models
        Saved models, the one from before the first event among them.
    relearn
        Learn missing models from the log.
    alpha
        The probability with which a correct log ever raises an alarm.

    >>> egret.audit("events").alarm
    False
    """
    with _Scratch() as scratch:
        request = {
            "log": scratch.log(log, skip_bad, space, columns=columns),
            "models": [scratch.model(model) for model in models],
            "relearn": relearn,
            "replay_every": replay_every,
            "alpha": alpha,
            "least_density": least_density,
        }
        return _told(Audit(scratch.run("audit", request, progress)[0]))


def summarize(
    log: Log,
    *,
    columns: Columns | None = None,
    skip_bad: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Summary:
    """What is in a log: counts, gaps, outcomes, the spread of densities, effective events.

    >>> egret.summarize("events").rows
    300
    """
    with _Scratch() as scratch:
        request = {"log": scratch.log(log, skip_bad, columns=columns)}
        return _told(Summary(scratch.run("summarize", request, progress)[0]))


def train(
    log: Log,
    *,
    oracle: str = "default",
    method: str | Mapping[str, Any] = "ips",
    space: Space | None = None,
    objective: Objective | None = None,
    features: Schema | None = None,
    epochs: int | None = None,
    split: Sequence[float] = (0.8, 0.1, 0.1),
    shuffle: bool = False,
    level: float = 0.95,
    seed: int = 0,
    columns: Columns | None = None,
    estimate_density: bool = False,
    skip_bad: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Training:
    """Learns a model from a log; `.model` of the answer decides and goes on learning.

    oracle, method
        How outcomes are predicted, and what that is fitted to: dm, ips, dr, or a dict with their numbers, as in
        docs/learning.md.
    split
        The shares of the log for training, for stopping and for judging.
    estimate_density
        Estimate the densities of actions from the log itself, as in evaluate.

    >>> 5 <= egret.train("events", epochs=1).model.best({"income": 50}) <= 50
    True
    """
    with _Scratch() as scratch:
        request = {
            "from": _training_log(scratch, log, skip_bad, space, objective, features, columns, estimate_density),
            "candidate": _candidate(oracle, method, epochs),
            "split": {"shares": list(split), "shuffle": shuffle},
            "seed": seed,
            "level": level,
        }
        report, model = scratch.run("train", request, progress)
        assert model is not None, "training makes a model"
        return _told(Training(report, model))


def select(
    log: Log,
    candidates: Sequence[str | tuple[str, str | Mapping[str, Any]]] = CANDIDATES,
    *,
    space: Space | None = None,
    objective: Objective | None = None,
    features: Schema | None = None,
    epochs: int | None = None,
    split: Sequence[float] = (0.8, 0.1, 0.1),
    shuffle: bool = False,
    level: float = 0.95,
    seed: int = 0,
    logged_by: Sequence[ModelFile] = (),
    columns: Columns | None = None,
    estimate_density: bool = False,
    skip_bad: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Selection:
    """Trains many candidates, judges them on held-out events, and keeps the best as `.model`.

    candidates
        Pairs of an oracle and a method, or oracles alone, by ips: ["default", "ridge", ("ridge", "dm")]. By default the
        default, ridge and fourier, each by dm, ips and dr.
    logged_by
        The model that made the log, as in evaluate: decisions of held-out events are made again with it, which narrows betting
        intervals.
    estimate_density
        Estimate the densities of actions from the log itself, as in evaluate.

    >>> found = egret.select("events", ["ridge", ("ridge", "dm")], epochs=1)
    >>> len(found.table), 5 <= found.model.best({"income": 50}) <= 50
    (2, True)
    """
    with _Scratch() as scratch:
        pairs = [(one, "ips") if isinstance(one, str) else one for one in candidates]
        request = {
            "from": _training_log(scratch, log, skip_bad, space, objective, features, columns, estimate_density),
            "candidates": [_candidate(oracle, method, epochs) for oracle, method in pairs],
            "split": {"shares": list(split), "shuffle": shuffle},
            "logged_by": [scratch.model(one) for one in logged_by],
            "seed": seed,
            "level": level,
        }
        report, model = scratch.run("select", request, progress)
        assert model is not None, "selection keeps a model"
        return _told(Selection(report, model))


def best_of(model: ModelFile, m: int = 16) -> dict[str, Any]:
    """The policy that draws m actions and plays the best of them by a model: as simple to serve as to evaluate.

    >>> trained = egret.train("events", epochs=1).model
    >>> egret.evaluate("events", {"four": egret.best_of(trained, 4)}).table[0]["policy"]
    'four'
    """
    return {"best_of": {"m": m, "model": model}}


def smooth(model: ModelFile, tau: float = 32.0) -> dict[str, Any]:
    """The policy that is uniform over the best 1/tau of all actions by a model.

    >>> trained = egret.train("events", epochs=1).model
    >>> egret.evaluate("events", {"best eighth": egret.smooth(trained, 8)}).table[0]["policy"]
    'best eighth'
    """
    return {"smooth": {"tau": tau, "model": model}}


def capped_igw(model: ModelFile, tau: float | None = None, gamma: float | None = None) -> dict[str, Any]:
    """CappedIGW with a model, at other settings.

    >>> trained = egret.train("events", epochs=1).model
    >>> egret.evaluate("events", {"bolder": egret.capped_igw(trained, tau=16)}).table[0]["policy"]
    'bolder'
    """
    return {"capped_igw": {"model": model, "tau": tau, "gamma": gamma}}


AnyReport = TypeVar("AnyReport", bound=Report)


def _told(report: AnyReport) -> AnyReport:
    """Says in the logger what was read, and what to be careful of."""
    logger.info("%s: %d events", type(report).__name__, report.events)
    for warning in report.warnings:
        logger.warning("%s", warning)
    return report


def _candidate(oracle: str, method: str | Mapping[str, Any], epochs: int | None) -> dict[str, Any]:
    if isinstance(method, str) and method not in METHODS:
        raise EgretError(f"no method is called {method!r}, expected {', '.join(METHODS)}")
    return {
        "oracle": None if oracle == "default" else json.loads(_egret.oracle_json(oracle)),
        "method": METHODS[method] if isinstance(method, str) else method,
        "epochs": epochs,
    }


def _training_log(
    scratch: _Scratch,
    log: Log,
    skip_bad: str | PathLike[str] | None,
    space: Space | None,
    objective: Objective | None,
    features: Schema | None,
    columns: Columns | None,
    estimate_density: bool,
) -> dict[str, Any]:
    embeddings = None if space is None else space.embeddings
    return {
        "log": scratch.log(log, skip_bad, None, objective, columns, estimate_density),
        "space": None if space is None else json.loads(_egret.space_json(str(space))),
        "embeddings": None if embeddings is None else scratch.rows(embeddings.tolist()),
        "features": None if features is None else features.to_dict(),
    }


def _named(policies: str | Sequence[str] | Mapping[str, object]) -> dict[str, object]:
    if isinstance(policies, str):
        policies = [policies]
    if isinstance(policies, Mapping):
        return dict(policies)
    return {policy: policy for policy in policies}


def _with_densities(log: Log, policies: dict[str, object]) -> tuple[Log, dict[str, object]]:
    """Policies that are functions become columns of the table."""
    named = dict(policies)
    for place, (name, policy) in enumerate(policies.items()):
        if not callable(policy):
            continue
        if _is_path(log):
            raise EgretError(f"policy {name} is a function of a table: read the log first, as with pandas.read_parquet")
        column = f"density_{place}"
        log = _with_column(log, column, policy(log))
        named[name] = {"column": {"density": column}}
    return log, named


def _with_column(table: Any, name: str, values: Any) -> Any:
    if hasattr(table, "assign"):  # pandas
        return table.assign(**{name: values})
    if hasattr(table, "with_columns"):  # polars
        import polars

        return table.with_columns(polars.Series(name, values))
    if hasattr(table, "append_column"):  # pyarrow
        return table.append_column(name, [values])
    raise EgretError("a policy that is a function needs a table of pandas, polars or pyarrow")


def _is_path(log: Log) -> bool:
    return isinstance(log, (str, PathLike)) or (isinstance(log, (list, tuple)) and all(_is_path(one) for one in log))


class _Scratch:
    """What one job reads: files, or a table as it is in memory. Models that are only in memory go through a folder."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0
        self._table: object = None
        self._space: Space | None = None
        self._objective: Objective | None = None

    def __enter__(self) -> _Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def _file(self, ending: str) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="egret-")
        self._files += 1
        return str(Path(self._folder.name) / f"{self._files}{ending}")

    def log(
        self,
        log: Log,
        skip_bad: str | PathLike[str] | None,
        space: Space | None = None,
        objective: Objective | None = None,
        columns: Columns | None = None,
        estimate_density: bool = False,
    ) -> dict[str, Any]:
        paths: Sequence[str | PathLike[str]] = ()
        if not _is_path(log):
            self._table, self._space, self._objective = _arrow(log), space, objective
        elif space is not None or objective is not None:
            raise EgretError("space and objective are for tables: a log in files says them itself")
        else:
            paths = [log] if isinstance(log, (str, PathLike)) else log
        return {
            "paths": [fspath(path) for path in paths],
            "skip_bad": None if skip_bad is None else fspath(skip_bad),
            "estimate_density": estimate_density,
            **({} if columns is None else {"mapping": _mapping(columns)}),
        }

    def run(self, job: str, request: dict[str, Any], progress: Progress | None) -> tuple[dict[str, Any], Model | None]:
        source = request["from"]["log"] if "from" in request else request["log"]
        logger.info("%s: reading %s", job, ", ".join(source["paths"]) or "a table")
        with listener(progress) as heard:
            report, model = _egret.run(job, json.dumps(request), heard, self._table, self._space, self._objective)
        return json.loads(report), model

    def rows(self, rows: Sequence[Sequence[float]]) -> str:
        file = self._file(".csv")
        Path(file).write_text("".join(",".join(map(repr, row)) + "\n" for row in rows))
        return file

    def model(self, model: ModelFile) -> str:
        if not isinstance(model, Model):
            return fspath(model)
        file = self._file(".egret")
        model.save(file)
        return file

    def policy(self, policy: object) -> Any:
        if isinstance(policy, str):
            return json.loads(_egret.policy_json(policy))
        if isinstance(policy, Mapping):
            return {
                name: {key: self.model(value) if isinstance(value, Model) else _plain(value) for key, value in options.items()}
                for name, options in policy.items()
            }
        raise EgretError(f"a policy is text, best_of(model) or a function of a table, found {policy!r}")


def _mapping(columns: Columns) -> dict[str, Any]:
    def as_text(value: Any) -> Any:
        if isinstance(value, Space):
            return str(value)
        return ",".join(map(str, value)) if isinstance(value, tuple) else value

    return {role: as_text(value) for role, value in columns.items()}


def _plain(value: Any) -> Any:
    return fspath(value) if isinstance(value, PathLike) else value


def _arrow(table: Any) -> Any:
    """What gives its rows as Arrow does."""
    if hasattr(table, "__arrow_c_stream__"):
        return table
    for method in ("collect", "to_arrow_table", "to_table"):  # lazy frames of polars, DuckDB, datasets of pyarrow
        if hasattr(table, method):
            return getattr(table, method)()
    found = type(table).__name__
    raise EgretError(f"a log is a path, or a table of pandas, polars, pyarrow or DuckDB, found {found}")
