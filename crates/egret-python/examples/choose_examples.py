"""Choose examples: which 3 of 30,000 to show a language model in a prompt, so that it answers right.

There are 4.5 million million sets of 3, and no list of them. The reference policy draws sets at random; a classifier of
scikit-learn predicts how likely a set leads to a right answer, and egret explores by it. Every set that is shown has its
density in the log, so that the log tells what other ways to choose would have got.

The world is simulated: a set helps if its examples are near to the question, in those directions that matter, and unlike
each other. Which directions matter, and how much, has to be learned from answers that were right or wrong.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

import egret

Floats = NDArray[np.float64]
Predict = Callable[[list[float], NDArray[np.int64]], Floats]
COUNT, SIZE, DIM = 30_000, 3, 12
SETS = egret.Subsets(COUNT, SIZE)
RIGHT = egret.maximize(0, 1)


def directions(count: int, seed: int) -> Floats:
    """Embeddings of unit length."""
    drawn = np.random.default_rng(seed).normal(size=(count, DIM))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


EXAMPLES = directions(COUNT, seed=1)


def features(question: Floats, sets: NDArray[np.int64]) -> Floats:
    """What is known of each set: how near its examples are to the question by direction, and how near to each other."""
    shown = EXAMPLES[sets]
    middle = shown.mean(axis=1)
    alike = ((SIZE * middle) ** 2).sum(axis=1) - SIZE
    return np.column_stack([DIM * middle * question, alike / (SIZE * (SIZE - 1))])


def right(question: Floats, sets: NDArray[np.int64]) -> Floats:
    """How likely the answer is right: what the world knows, and the learner does not."""
    matter = np.where(np.arange(DIM) % 3 == 0, 2.0, 0.2)
    score = features(question, sets) @ np.append(matter, -1.5) - 1.0
    return np.asarray(1 / (1 + np.exp(-score)))


def at_random(question: list[float], sets: NDArray[np.int64]) -> Floats:
    """Nothing is known yet: all sets are alike."""
    return np.full(len(sets), 0.5)


def learned(rows: list[Floats], outcomes: list[float]) -> Predict:
    """A classifier of scikit-learn, fitted to all that was seen."""
    classifier = LogisticRegression().fit(np.array(rows), np.array(outcomes))

    def predict(question: list[float], sets: NDArray[np.int64]) -> Floats:
        return np.asarray(classifier.predict_proba(features(np.array(question), sets))[:, 1])

    return predict


def main(log: Path, rounds: int = 6, questions: int = 200) -> list[float]:
    chance = np.random.default_rng(2)
    asked = directions(rounds * questions, seed=3)
    predict: Predict = at_random
    rows: list[Floats] = []
    outcomes: list[float] = []
    shares = []
    for number in range(rounds):
        with egret.FunctionModel(SETS, predict, objective=RIGHT, tau=128, gamma=3_000, log=log) as model:
            for question in asked[number * questions : (number + 1) * questions]:
                decision = model.decide(question)
                chosen = np.array([decision.action])
                outcome = float(chance.random() < right(question, chosen)[0])
                model.learn(decision, outcome)
                rows.append(features(question, chosen)[0])
                outcomes.append(outcome)
        shares.append(sum(outcomes[-questions:]) / questions)
        print(f"round {number + 1}: {shares[-1]:.0%} right" + (", chosen at random" if number == 0 else ""))
        predict = learned(rows, outcomes)

    # What would random choice have got in all rounds? The log knows.
    print(egret.evaluate(log, {"at random": "uniform"}, against="logged"))
    return shares


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(Path(scratch) / "events")
