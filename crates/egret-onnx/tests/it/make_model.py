"""Makes revenue.onnx, a network of scikit-learn, and what it predicts itself: `pip install scikit-learn skl2onnx`."""

import json
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.neural_network import MLPRegressor

FOLDER = Path(__file__).parent
chance = np.random.default_rng(1)
# Income and a flag, then the price; a sale is worth its price.
rows = np.column_stack([chance.uniform(0, 1, 4_000), chance.integers(0, 2, 4_000), chance.uniform(5, 50, 4_000)])
revenue = rows[:, 2] * (rows[:, 2] < 10 + 25 * rows[:, 0] + 5 * rows[:, 1])
network = MLPRegressor(hidden_layer_sizes=(16, 16), max_iter=400, random_state=1).fit(rows * [1, 1, 0.02], revenue / 50)
network.coefs_[0][2] *= 0.02  # so that prices come in as they are
model = to_onnx(network, np.zeros((1, 3), np.float32), target_opset=17)
(FOLDER / "revenue.onnx").write_bytes(model.SerializeToString())
shown = rows[:24].astype(np.float32).astype(float)
told = {"rows": shown.tolist(), "predicted": network.predict(shown).tolist()}
(FOLDER / "revenue.json").write_text(json.dumps(told) + "\n")
