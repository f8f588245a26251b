"""Lets a learner of another library play in egret's lab, over standard input and output.

In:   one line of JSON: learner, settings, seed, rows, columns
      rows × columns little-endian f64: the context of each decision, without its losses
Out:  one line of JSON: {"ready": true}, or {"error": why}
then for each row
Out:  two little-endian f64: the action in [0, 1], and its density (NaN if the learner has none)
In:   one little-endian f64: the loss of the action
and at the end
Out:  one line of JSON: the nanoseconds spent on predicting, learning, and converting contexts for the library

Times are measured here, around the calls of the library, so that the pipe does not count.

With `--check NAME …` it prints the versions of these packages; null means not installed.
"""

import json
import struct
import sys
from time import perf_counter_ns


class Uniform:
    """Uniform random actions. Needs no package, so that the lab can be tried without one."""

    def __init__(self, settings, seed, columns):
        import random

        self.chance = random.Random(seed)

    def format(self, x):
        return x

    def predict(self, x):
        return self.chance.random(), 1.0

    def learn(self, x, action, density, loss):
        pass


class Cats:
    """Vowpal Wabbit's CATS: a tree over K buckets of actions, smoothed by a bandwidth."""

    def __init__(self, settings, seed, columns):
        import vowpalwabbit

        self.workspace = vowpalwabbit.Workspace(
            "--cats {k} --bandwidth {bandwidth} --min_value 0 --max_value 1 --epsilon {epsilon} {options}".format(
                **settings
            )
            + f" --random_seed {seed} --quiet"
        )

    def format(self, x):
        return " ".join(f"{place}:{value:.6g}" for place, value in enumerate(x) if value != 0)

    def predict(self, x):
        return self.workspace.predict("|x " + x)

    def learn(self, x, action, density, loss):
        self.workspace.learn(f"ca {action}:{loss}:{density} |x {x}")


class Coba:
    """A learner of coba, over the centres of K buckets: coba has none for an interval."""

    def __init__(self, settings, seed, columns):
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
        self.memory = None

    def format(self, x):
        return tuple(x)

    def predict(self, x):
        action, probability, extra = self.learner.predict(x, self.actions)
        self.memory = action, probability, extra
        return self.middles[action], probability * self.count

    def learn(self, x, action, density, loss):
        action, probability, extra = self.memory
        self.learner.learn(x, action, 1 - loss, probability, **extra)


LEARNERS = {"uniform": Uniform, "cats": Cats, "coba": Coba}


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
    try:
        settings = dict(header["settings"], rows=rows)
        learner = LEARNERS[header["learner"]](settings, header["seed"], columns)
    except Exception as error:  # the user sees the message, whatever it is
        say(sink, {"error": f"{type(error).__name__}: {error}"})
        return
    say(sink, {"ready": True})
    predicting = learning = formatting = 0
    for x in contexts:
        start = perf_counter_ns()
        x = learner.format(x)
        formatted = perf_counter_ns()
        action, density = learner.predict(x)
        predicted = perf_counter_ns()
        sink.write(struct.pack("<2d", action, density))
        sink.flush()
        (loss,) = struct.unpack("<d", read(source, 8))
        known = perf_counter_ns()
        learner.learn(x, action, density, loss)
        learning += perf_counter_ns() - known
        predicting += predicted - formatted
        formatting += formatted - start
    say(sink, {"predict_ns": predicting, "learn_ns": learning, "format_ns": formatting})


if len(sys.argv) > 1 and sys.argv[1] == "--check":
    check(sys.argv[2:])
else:
    play()
