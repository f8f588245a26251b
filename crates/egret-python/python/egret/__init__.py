"""Contextual bandits for action spaces too large to list, with a reusable log.

A Model chooses an action for each context, says how likely it was, and learns from the outcome:

>>> model = egret.Model(egret.Interval(5, 50), objective=egret.maximize(0, 50), log="events")
>>> for customer in range(300):
...     decision = model.decide({"income": 20 + 10 * (customer % 7)})
...     bought = decision.action < 18 + 4 * (customer % 7)
...     model.learn(decision, decision.action if bought else 0)
>>> model.close()

With log="events" every event is kept, and the log tells what other policies would have earned. Examples below read this log.

>>> found = egret.evaluate("events", {"blind": "uniform"})
>>> found.table[0]["policy"], found.events
('blind', 300)

    decide and learn    Model, Decision, Decisions; FunctionModel by a function of your own
    action spaces       Interval, LogInterval, Steps, TruncatedNormal, Beta, Box, Simplex, Sphere, Knobs, Items, Subsets
    outcomes            maximize, minimize
    named features      Schema
    logs                LogWriter, summarize, audit
    other policies      evaluate, with best_of, smooth and capped_igw; train, select
    exceptions          EgretError, LogError
    worlds to play      egret.worlds
    among others        egret.coba, egret.sklearn, egret.obp
"""

from egret._egret import (
    Beta,
    Box,
    Decision,
    Decisions,
    EgretError,
    FunctionModel,
    Interval,
    Items,
    Knobs,
    LogError,
    LogInterval,
    LogWriter,
    Model,
    Objective,
    Schema,
    Simplex,
    Space,
    Sphere,
    Steps,
    Subsets,
    TruncatedNormal,
    maximize,
    minimize,
)
from egret._jobs import audit, best_of, capped_igw, evaluate, select, smooth, summarize, train
from egret._reports import Audit, Evaluation, Report, Selection, Summary, Training

__all__ = [
    "Audit",
    "Beta",
    "Box",
    "Decision",
    "Decisions",
    "EgretError",
    "Evaluation",
    "FunctionModel",
    "Interval",
    "Items",
    "Knobs",
    "LogError",
    "LogInterval",
    "LogWriter",
    "Model",
    "Objective",
    "Report",
    "Schema",
    "Selection",
    "Simplex",
    "Space",
    "Sphere",
    "Steps",
    "Subsets",
    "Summary",
    "Training",
    "TruncatedNormal",
    "audit",
    "best_of",
    "capped_igw",
    "evaluate",
    "maximize",
    "minimize",
    "select",
    "smooth",
    "summarize",
    "train",
]
