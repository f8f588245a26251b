"""What jobs answer: objects that print as a table, show a picture in a notebook, and become dicts and frames."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from egret import _egret

if TYPE_CHECKING:
    import pandas

    from egret._egret import Model


class Svg(str):
    """A picture as SVG, which a notebook shows."""

    def _repr_svg_(self) -> str:
        return self


@dataclass
class _Intervals:
    """Intervals one below the other: rows are (label, series, low, point, high)."""

    title: str
    subtitle: str
    axis: str
    rows: list[tuple[str, str, float, float, float]]

    def svg(self) -> str:
        return _egret.interval_chart(self.title, self.subtitle, self.axis, self.rows)

    def draw(self, ax: Any) -> None:
        labels = list(dict.fromkeys(row[0] for row in self.rows))
        series = list(dict.fromkeys(row[1] for row in self.rows))
        for place, name in enumerate(series):
            rows = [row for row in self.rows if row[1] == name]
            heights = [labels.index(row[0]) + 0.2 * (place - (len(series) - 1) / 2) for row in rows]
            ends = [[row[3] - row[2] for row in rows], [row[4] - row[3] for row in rows]]
            ax.errorbar([row[3] for row in rows], heights, xerr=ends, fmt="o", capsize=3, label=name)
        ax.set_yticks(range(len(labels)), labels)
        ax.invert_yaxis()
        ax.set_xlabel(f"{self.axis}, {self.subtitle}")


@dataclass
class _Lines:
    """Lines on a logarithmic scale, and a level."""

    title: str
    subtitle: str
    axes: tuple[str, str]
    lines: list[tuple[str, list[tuple[float, float]]]]
    level: tuple[float, str]

    def svg(self) -> str:
        return _egret.line_chart(self.title, self.subtitle, self.axes, self.lines, self.level)

    def draw(self, ax: Any) -> None:
        for name, points in self.lines:
            ax.plot([x for x, _ in points], [y for _, y in points], label=name)
        ax.axhline(self.level[0], linestyle="--", color="grey", label=self.level[1])
        ax.set_yscale("log")
        ax.set_xlabel(self.axes[0])
        ax.set_ylabel(self.axes[1])


class Report:
    """What a job answers. It prints as a table, and shows a picture in a notebook.

    >>> found = egret.evaluate("events", "uniform")
    >>> isinstance(found, egret.Report), found.svg.startswith("<svg"), sorted(found.to_dict())[0]
    (True, True, 'distribution')
    """

    title = "Report"
    #: (heading, key) of the columns that are printed.
    columns: Sequence[tuple[str, str]] = ()

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        """All of it, as the command prints it with --json."""
        return self._data

    @property
    def table(self) -> list[dict[str, Any]]:
        """The rows, each a dict."""
        raise NotImplementedError

    @property
    def remarks(self) -> list[str]:
        """What there is to say in sentences."""
        return []

    @property
    def events(self) -> int:
        """How many events it rests on."""
        raise NotImplementedError

    @property
    def warnings(self) -> list[str]:
        """What to be careful of; also told to the logger "egret"."""
        return []

    def _picture(self) -> _Intervals | _Lines | None:
        return None

    @property
    def svg(self) -> str | None:
        """A picture, if there is something to draw."""
        picture = self._picture()
        return None if picture is None else picture.svg()

    def plot(self, ax: Any = None) -> Any:
        """Draws the picture with matplotlib, into `ax` or a figure of its own, and gives the axes.

        Where matplotlib is not installed, it gives the SVG, which a notebook shows.
        """
        picture = self._picture()
        if picture is None:
            raise _egret.EgretError("there is nothing to draw")
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                return Svg(picture.svg())
            height = 2 + 0.5 * len(picture.rows) if isinstance(picture, _Intervals) else 4
            ax = pyplot.subplots(figsize=(8, height), layout="constrained")[1]
        picture.draw(ax)
        ax.set_title(picture.title)
        ax.legend()
        return ax

    def to_frame(self) -> pandas.DataFrame:
        """The rows as a frame of pandas."""
        import pandas

        return pandas.DataFrame(self.table)

    def save_plot(self, path: str) -> None:
        """Writes the picture as SVG."""
        svg = self.svg
        if svg is None:
            raise _egret.EgretError("there is nothing to draw")
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg)

    def __repr__(self) -> str:
        rows = [[heading for heading, _ in self.columns], *self._cells()]
        widths = [max(len(cell) for cell in column) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join([self.title, "", *lines, "", *self.remarks]).rstrip()

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        head = row([heading for heading, _ in self.columns], "th")
        body = "".join(row(cells, "td") for cells in self._cells())
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self.remarks)
        picture = f"<div style='overflow-x: auto'>{self.svg or ''}</div>"
        return f"<h4>{html.escape(self.title)}</h4>{picture}<table>{head}{body}</table>{remarks}"

    def _cells(self) -> list[list[str]]:
        return [[_cell(row.get(key)) for _, key in self.columns] for row in self.table]


class Evaluation(Report):
    """What other policies would have earned, or lost. A row has an estimate, its interval, and a verdict on it.

    >>> row = egret.evaluate("events", "uniform").table[0]
    >>> row["policy"], row["estimator"], row["low"] < row["estimate"] < row["high"]
    ('uniform', 'snips', True)
    """

    columns = (
        ("policy", "policy"),
        ("estimator", "estimator"),
        ("interval", "interval"),
        ("estimate", "estimate"),
        ("low", "low"),
        ("high", "high"),
        ("events", "n"),
        ("effective", "ess"),
        ("verdict", "verdict_kind"),
    )

    @property
    def title(self) -> str:  # type: ignore[override]
        done = "earned" if _noun(self._data) == "reward" else "lost"
        return f"What other policies would have {done}"

    @property
    def table(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._data["rows"]
        return rows

    @property
    def parts(self) -> list[dict[str, Any]]:
        """The rows of each part of the log, where `by` or `window` asked for them."""
        rows: list[dict[str, Any]] = self._data["parts"]
        return rows

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """The rows of further outcomes."""
        rows: list[dict[str, Any]] = self._data["outcomes"]
        return rows

    @property
    def distribution(self) -> list[dict[str, Any]]:
        """Quantiles, and means of the worst outcomes."""
        rows: list[dict[str, Any]] = self._data["distribution"]
        return rows

    @property
    def remarks(self) -> list[str]:
        verdicts = {row["policy"]: f"{row['policy']}: {row['verdict']}." for row in reversed(self.table)}
        return [*reversed(verdicts.values()), *self._data["remarks"]]

    @property
    def events(self) -> int:
        return max((int(row["n"]) for row in self.table), default=0)

    @property
    def warnings(self) -> list[str]:
        doubtful = {row["policy"]: row["verdict"] for row in reversed(self.table) if row["verdict_kind"] != "reliable"}
        told = {warning: None for row in self.table for warning in row["warnings"]}
        skipped = [remark for remark in self._data["remarks"] if "not records" in remark]
        return [*skipped, *told, *(f"{policy}: {verdict}" for policy, verdict in reversed(doubtful.items()))]

    def _picture(self) -> _Intervals | None:
        rows = [
            (f"{row['policy']}, {row['estimator']}", row["interval"], row["low"], row["estimate"], row["high"])
            for row in self.table
        ]
        rows = [row for row in rows if all(_is_finite(value) for value in row[2:])]
        if not rows:
            return None
        subtitle = f"{self._data['level']:.0%} intervals"
        return _Intervals("Value of each policy", subtitle, f"mean {_noun(self._data)}", rows)


class Audit(Report):
    """Whether a log is what it says: `alarm` and `verdict` first, then a row for each test.

    >>> egret.audit("events").verdict[:23]
    'no fault found in 300 e'
    """

    columns = (
        ("test", "test"),
        ("hypothesis", "hypothesis"),
        ("events", "events"),
        ("e-value", "e_value"),
        ("largest", "largest"),
        ("alarm at", "threshold"),
        ("alarm after", "alarm_at"),
    )

    @property
    def alarm(self) -> bool:
        """Whether a fault was found."""
        return bool(self._data["alarm"])

    @property
    def verdict(self) -> str:
        """What was found, in a sentence."""
        return str(self._data["verdict"])

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"Verdict: {self.verdict}"

    @property
    def events(self) -> int:
        return int(self._data["events"])

    @property
    def warnings(self) -> list[str]:
        return [self.verdict] if self.alarm else []

    @property
    def table(self) -> list[dict[str, Any]]:
        return [*self._data["tests"], self._data["together"]]

    @property
    def remarks(self) -> list[str]:
        replay = self._data["replay"]
        done = f"Replay: {replay['replayed']} decisions repeated, {replay['equal']} equal, {replay['differing']} differ."
        return [done, *(f"Not checked: {words}." for words in self._data["not_checked"])]

    def _picture(self) -> _Lines | None:
        points = self._data["history"]["points"]
        if not points:
            return None
        names = [row["test"] for row in self.table]
        lines = [
            (name, [(at, min(max(values[place], 1e-4), 1e12)) for at, values in points if place < len(values)])
            for place, name in enumerate(names)
        ]
        threshold = self._data["together"]["threshold"]
        axes, level = ("events", "e-value"), (threshold, f"alarm at {threshold:g}")
        return _Lines("Evidence that densities are wrong", "E-values over the log", axes, lines, level)


class Summary(Report):
    """What is in a log. `summary.rows` and the like are the figures that to_dict lists.

    >>> egret.summarize("events").actions
    {'number': 300}
    """

    title = "The log"
    columns = (("figure", "figure"), ("value", "value"))

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_data"][name]
        except KeyError:
            raise AttributeError(f"a summary has no figure {name!r}") from None

    @property
    def events(self) -> int:
        return int(self._data["rows"])

    @property
    def warnings(self) -> list[str]:
        return _skipped(self._data["skipped"])

    @property
    def table(self) -> list[dict[str, Any]]:
        figures = dict(self._data)
        effective = figures["effective_events"]
        if effective:
            figures["effective_events"] = f"{effective['overall']['effective_per_1000']:.3g} of 1,000"
        return [
            {"figure": name, "value": _flat(value)} for name, value in figures.items() if value not in (None, {}, [], 0)
        ]

    def _picture(self) -> _Lines | None:
        density = self._data["density"]
        if not density:
            return None
        percents = {"min": 0, "p01": 1, "p25": 25, "median": 50, "p75": 75, "p99": 99, "max": 100}
        points = [(float(percent), density[name]) for name, percent in percents.items()]
        axes, level = ("percent of events", "density of the action"), (1.0, "at random")
        return _Lines("How actions were drawn", "Densities, from the least", axes, [("density", points)], level)


class _WithModel(Report):
    def __init__(self, data: dict[str, Any], model: Model) -> None:
        super().__init__(data)
        #: The model that was learned.
        self.model = model

    @property
    def events(self) -> int:
        return int(self._data["log"]["used"])

    @property
    def warnings(self) -> list[str]:
        return _skipped(self._data["log"]["skipped"])


class Training(_WithModel):
    """A model that was learned from a log, and how the training went: a row for each epoch.

    >>> [row["epoch"] for row in egret.train("events", epochs=2).table]
    [1, 2]
    """

    columns = (("epoch", "epoch"), ("squared error", "squared_error"), ("value", "value"))

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"{self._data['name']}, served as {self._data['policy']}"

    @property
    def table(self) -> list[dict[str, Any]]:
        return [{"epoch": epoch["epoch"], **epoch["validation"]} for epoch in self._data["epochs"]]

    @property
    def value(self) -> dict[str, Any] | None:
        """Its value on test rows, which it has not seen: estimate, interval, verdict."""
        tested: dict[str, Any] | None = self._data["tested"]
        return tested

    def _picture(self) -> _Intervals | None:
        if self.value is None:
            return None
        found = self.value["interval"]
        row = (self._data["policy"], found["interval"], found["low"], found["estimate"], found["high"])
        if not all(_is_finite(value) for value in row[2:]):
            return None
        subtitle = f"{found['level']:.0%} interval on rows it has not seen"
        return _Intervals("Value of the model", subtitle, f"mean {_noun(self._data)}", [row])

    @property
    def remarks(self) -> list[str]:
        rows = [f"{self._data[part]} rows for {part}" for part in ("train", "validation", "test")]
        lines = [f"The model of epoch {self._data['best_epoch']}; {', '.join(rows)}."]
        if self.value is not None:
            interval = self.value["interval"]
            lines.append(
                f"On test rows: {self.value['estimate']:.4g}, in [{interval['low']:.4g}, {interval['high']:.4g}]."
            )
        return lines


class Selection(_WithModel):
    """The best of many candidates, and how each did on held-out events.

    >>> [row["candidate"] for row in egret.select("events", ["ridge"], epochs=1).table]
    ['ridge with squares ips']
    """

    title = "Candidates on held-out events"
    columns = (
        ("candidate", "candidate"),
        ("estimate", "estimate"),
        ("low", "low"),
        ("high", "high"),
        ("effective", "ess"),
        ("winner", "winner"),
        ("verdict", "verdict"),
    )

    @property
    def table(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._data["candidates"]
        return rows

    @property
    def remarks(self) -> list[str]:
        return [self._data["sentence"]]

    def _picture(self) -> _Intervals | None:
        rows = [(row["candidate"], "value", row["low"], row["estimate"], row["high"]) for row in self.table]
        rows = [row for row in rows if all(_is_finite(value) for value in row[2:])]
        if not rows:
            return None
        return _Intervals(self.title, "they hold for all at once", f"mean {_noun(self._data)}", rows)


def _noun(data: dict[str, Any]) -> str:
    """What outcomes are called."""
    return "reward" if data["objective"]["direction"] == "maximize" else "loss"


def _skipped(rows: int) -> list[str]:
    return [f"{rows} rows were not records, and are left out"] if rows else []


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _flat(value: Any) -> Any:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_cell(inner)}" for name, inner in value.items())
    return value


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value)
