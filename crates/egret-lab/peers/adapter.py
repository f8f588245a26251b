"""Lets a learner of another library play in egret's lab, over standard input and output.

In:   one line of JSON: learner, settings, seed, rows, columns, actions
      rows × columns little-endian f64: the context of each decision, without its losses
      where actions are {"kind": "items", "count": n, "features": m}: n × m little-endian f32, the features of each item
Out:  one line of JSON: {"ready": true}, or {"error": why}
then, until the input ends, requests of one letter
In:   d                             decide the next row
Out:  little-endian f64:            the action, its density p, and the mean of 1/p over all actions at this context
                                    (NaN if the learner does not know them). The action is a number in [0, 1] where actions are
                                    {"kind": "interval"}, one for each knob for {"kind": "box", "knobs": d}, an index for items
In:   l, one little-endian f64      learn the loss of the first decision whose loss is not known yet
In:   t                             tell the time
Out:  one line of JSON:             the nanoseconds spent on predicting, learning, and converting contexts for the library

Times are measured here, around the calls of the library, so that the pipe does not count.

With `--check NAME …` it prints the versions of these packages; null means not installed.
"""

import json
import struct
import sys
from collections import deque
from time import perf_counter_ns


class Uniform:
    """Uniform random actions, on all of [0, 1] or from `low` to `high`. Needs no package, so that the lab can be tried without one."""

    def __init__(self, settings, seed, actions):
        import random

        self.chance = random.Random(seed)
        self.actions = actions
        self.low, self.high = settings.get("low", 0.0), settings.get("high", 1.0)

    def format(self, x):
        return x

    def predict(self, x):
        if self.actions["kind"] == "items":
            return self.chance.randrange(self.actions["count"]), 1.0, None
        width = self.high - self.low
        knobs = self.actions.get("knobs", 1)
        return [self.low + width * self.chance.random() for _ in range(knobs)], width**-knobs, None

    def mean_inverse_density(self, choice):
        return 1.0 if self.high - self.low == 1.0 else float("inf")

    def learn(self, x, choice, loss):
        pass


class Cats:
    """Vowpal Wabbit's CATS: a tree over K buckets of actions, smoothed by a bandwidth."""

    def __init__(self, settings, seed, actions):
        import vowpalwabbit

        self.workspace = vowpalwabbit.Workspace(
            "--cats {k} --bandwidth {bandwidth} --min_value 0 --max_value 1 --epsilon {epsilon} {options}".format(
                **settings
            )
            + f" --random_seed {seed} --quiet"
        )
        # The density is epsilon everywhere, and more within the bandwidth of one action, never cut at the ends.
        width, epsilon = 2 * settings["bandwidth"], settings["epsilon"]
        self.inverse = width / (epsilon + (1 - epsilon) / width) + (1 - width) / epsilon

    def format(self, x):
        return features(x)

    def predict(self, x):
        action, density = self.workspace.predict("|x " + x)
        return action, density, None

    def mean_inverse_density(self, choice):
        return self.inverse

    def learn(self, x, choice, loss):
        action, density, _ = choice
        self.workspace.learn(f"ca {action}:{loss}:{density} |x {x}")


class CbExplore:
    """Vowpal Wabbit's --cb_explore over K buckets; an action is drawn uniformly within the chosen one."""

    def __init__(self, settings, seed, actions):
        import random

        import vowpalwabbit

        self.count = settings["k"]
        self.chance = random.Random(seed)
        self.workspace = vowpalwabbit.Workspace(
            "--cb_explore {k} {options}".format(**settings) + f" --random_seed {seed} --quiet"
        )

    def format(self, x):
        return features(x)

    def predict(self, x):
        probabilities = self.workspace.predict("|x " + x)
        (bucket,) = self.chance.choices(range(self.count), probabilities)
        action = (bucket + self.chance.random()) / self.count
        return action, probabilities[bucket] * self.count, (bucket, probabilities)

    def mean_inverse_density(self, choice):
        probabilities = choice[2][1]
        if min(probabilities) <= 0:
            return float("inf")
        return sum(1 / probability for probability in probabilities) / self.count**2

    def learn(self, x, choice, loss):
        bucket, probabilities = choice[2]
        self.workspace.learn(f"{bucket + 1}:{loss}:{probabilities[bucket]} |x {x}")


def features(x):
    """A context as Vowpal Wabbit reads it.

    Names begin with a letter. Those of digits alone are not hashed, and neighbours then share weights of --cb_explore: what one
    feature says of an action is what the next says of another.
    """
    return " ".join(f"x{place}:{value:.6g}" for place, value in enumerate(x) if value != 0)


class Coba:
    """A learner of coba, over the centres of K buckets: coba has none for an interval."""

    def __init__(self, settings, seed, actions):
        from coba import learners
        from coba.safety import SafeLearner

        self.count = settings["k"]
        self.actions = [f"bucket{place}" for place in range(self.count)]
        self.middles = {action: (place + 0.5) / self.count for place, action in enumerate(self.actions)}
        features = [1, "a", "ax"]

        def epsilon():
            return learners.VowpalEpsilonLearner(epsilon=settings["epsilon"], features=features, seed=seed)

        def squarecb():
            return learners.VowpalSquarecbLearner(features=features, seed=seed)

        learner = {
            "epsilon": epsilon,
            "squarecb": squarecb,
            "corral": lambda: learners.CorralLearner([epsilon(), squarecb()], T=settings["rows"], seed=seed),
            "bandit": lambda: learners.BanditEpsilonLearner(epsilon=settings["epsilon"], seed=seed),
        }[settings["kind"]]()
        self.learner = SafeLearner(learner)

    def format(self, x):
        return tuple(x)

    def predict(self, x):
        action, probability, extra = self.learner.predict(x, self.actions)
        return self.middles[action], probability * self.count, (action, probability, extra)

    def mean_inverse_density(self, choice):
        return float("nan")

    def learn(self, x, choice, loss):
        action, probability, extra = choice[2]
        self.learner.learn(x, action, 1 - loss, probability, **extra)


class CbExploreItems:
    """Vowpal Wabbit's --cb_explore over a list of items."""

    def __init__(self, settings, seed, actions):
        import random

        import vowpalwabbit

        self.count = actions["count"]
        self.chance = random.Random(seed)
        self.workspace = vowpalwabbit.Workspace(
            f"--cb_explore {self.count} {settings['options']} --random_seed {seed} --quiet"
        )

    def format(self, x):
        return features(x)

    def predict(self, x):
        probabilities = self.workspace.predict("|x " + x)
        (item,) = self.chance.choices(range(self.count), probabilities)
        return item, probabilities[item] * self.count, (item, probabilities)

    def mean_inverse_density(self, choice):
        probabilities = choice[2][1]
        if min(probabilities) <= 0:
            return float("inf")
        return sum(1 / probability for probability in probabilities) / self.count**2

    def learn(self, x, choice, loss):
        item, probabilities = choice[2]
        self.workspace.learn(f"{item + 1}:{loss}:{probabilities[item]} |x {x}")


class CbExploreAdf(CbExploreItems):
    """Vowpal Wabbit's --cb_explore_adf: a line for each item, with its features, or with its number where it has none."""

    def __init__(self, settings, seed, actions):
        import random

        import vowpalwabbit

        self.count = actions["count"]
        self.chance = random.Random(seed)
        rows = actions["rows"]
        self.items = [f"|e {features(row)}" for row in rows] if rows else [f"|e i{item}" for item in range(self.count)]
        self.workspace = vowpalwabbit.Workspace(
            f"--cb_explore_adf {settings['options']} --random_seed {seed} --quiet"
        )

    def predict(self, x):
        probabilities = self.workspace.predict([f"shared |x {x}", *self.items])
        (item,) = self.chance.choices(range(self.count), probabilities)
        return item, probabilities[item] * self.count, (item, probabilities)

    def learn(self, x, choice, loss):
        item, probabilities = choice[2]
        lines = [f"shared |x {x}", *self.items]
        lines[1 + item] = f"0:{loss}:{probabilities[item]} {lines[1 + item]}"
        self.workspace.learn(lines)


class Tpe:
    """Optuna's tree-structured Parzen estimator, which knows no context: some trials, and then the best of them for ever."""

    def __init__(self, settings, seed, actions):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        import warnings

        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=settings["multivariate"])
        self.study = optuna.create_study(sampler=sampler)
        self.trials = settings["trials"]
        self.names = [f"knob{knob}" for knob in range(actions["knobs"])]
        self.best = None

    def format(self, x):
        return x

    def predict(self, x):
        if self.trials == 0:
            if self.best is None:
                self.best = [self.study.best_params[name] for name in self.names]
            return self.best, float("nan"), None
        self.trials -= 1
        trial = self.study.ask()
        return [trial.suggest_float(name, 0.0, 1.0) for name in self.names], float("nan"), trial

    def mean_inverse_density(self, choice):
        return float("nan")

    def learn(self, x, choice, loss):
        if choice[2] is not None:
            self.study.tell(choice[2], loss)


class CmaEs:
    """CMA-ES, which knows no context: a population after another, and the favourite once it stops."""

    def __init__(self, settings, seed, actions):
        import cma

        self.knobs = actions["knobs"]
        options = {"bounds": [0, 1], "seed": seed + 1, "verbose": -9, "maxiter": 10**9, "tolfunhist": 0, "tolfun": 0}
        self.search = cma.CMAEvolutionStrategy(self.knobs * [0.5], settings["sigma"], options)
        self.waiting, self.played, self.losses = [], [], []

    def format(self, x):
        return x

    def predict(self, x):
        if not self.waiting:
            if self.search.stop():
                favourite = self.search.result.xfavorite
                return [min(max(float(v), 0.0), 1.0) for v in favourite], float("nan"), None
            self.waiting = list(self.search.ask())
        knobs = self.waiting.pop(0)
        return [min(max(float(v), 0.0), 1.0) for v in knobs], float("nan"), knobs

    def mean_inverse_density(self, choice):
        return float("nan")

    def learn(self, x, choice, loss):
        if choice[2] is None:
            return
        self.played.append(choice[2])
        self.losses.append(loss)
        if len(self.losses) == self.search.popsize:
            self.search.tell(self.played, self.losses)
            self.played, self.losses = [], []


LEARNERS = {
    "uniform": Uniform,
    "cats": Cats,
    "cb_explore": CbExplore,
    "coba": Coba,
    "cb_explore_items": CbExploreItems,
    "cb_explore_adf": CbExploreAdf,
    "tpe": Tpe,
    "cma_es": CmaEs,
}


def read(stream, count):
    parts = bytearray()
    while len(parts) < count:
        part = stream.read(count - len(parts))
        if not part:
            sys.exit("the lab went away")
        parts += part
    return bytes(parts)


def say(stream, message):
    stream.write((json.dumps(message) + "\n").encode())
    stream.flush()


def check(names):
    from importlib import metadata

    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    print(json.dumps(versions))


def play():
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    header = json.loads(source.readline())
    rows, columns = header["rows"], header["columns"]
    numbers = struct.Struct(f"<{columns}d")
    contexts = [numbers.unpack(read(source, numbers.size)) for _ in range(rows)]
    actions = header["actions"]
    if actions["kind"] == "items":
        row = struct.Struct(f"<{actions['features']}f")
        actions["rows"] = [row.unpack(read(source, row.size)) for _ in range(actions["count"]) if row.size]
    try:
        settings = dict(header["settings"], rows=rows)
        learner = LEARNERS[header["learner"]](settings, header["seed"], actions)
    except Exception as error:  # the user sees the message, whatever it is
        say(sink, {"error": f"{type(error).__name__}: {error}"})
        return
    say(sink, {"ready": True})
    predicting = learning = formatting = 0
    contexts.reverse()
    # Decisions whose losses are not known yet.
    waiting = deque()
    while request := source.read(1):
        if request == b"d":
            x = contexts.pop()
            start = perf_counter_ns()
            x = learner.format(x)
            formatted = perf_counter_ns()
            choice = learner.predict(x)
            predicting += perf_counter_ns() - formatted
            formatting += formatted - start
            waiting.append((x, choice))
            action = choice[0] if isinstance(choice[0], list) else [choice[0]]
            answer = (*action, choice[1], learner.mean_inverse_density(choice))
            sink.write(struct.pack(f"<{len(answer)}d", *answer))
            sink.flush()
        elif request == b"l":
            (loss,) = struct.unpack("<d", read(source, 8))
            x, choice = waiting.popleft()
            start = perf_counter_ns()
            learner.learn(x, choice, loss)
            learning += perf_counter_ns() - start
        else:
            say(sink, {"predict_ns": predicting, "learn_ns": learning, "format_ns": formatting})


if len(sys.argv) > 1 and sys.argv[1] == "--check":
    check(sys.argv[2:])
else:
    play()
