"""Makes torch_revenue.onnx and torch_price.onnx, networks of PyTorch, and what they give themselves: `pip install torch onnx`.

The first predicts the revenue of a customer and a price; the second plays the price of a customer.
"""

import json
from pathlib import Path

import torch
from torch import nn

FOLDER = Path(__file__).parent
torch.manual_seed(1)
customers = torch.rand(4_000, 2)
prices = 5 + 45 * torch.rand(4_000, 1)
worth = 10 + 25 * customers[:, :1] + 5 * customers[:, 1:]
revenue = prices * torch.sigmoid(worth - prices)


class Scaled(nn.Module):
    """Inputs come in as they are, and outputs are in units of money."""

    def __init__(self, scales: list[float]) -> None:
        super().__init__()
        self.scales = nn.Buffer(torch.tensor(scales))
        sizes = nn.Linear(len(scales), 24), nn.LayerNorm(24), nn.SiLU(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1)
        self.layers = nn.Sequential(*sizes)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return 50 * self.layers(rows / self.scales)


def fitted(network: nn.Module, rows: torch.Tensor, target: torch.Tensor) -> nn.Module:
    steps = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(600):
        steps.zero_grad()
        (((network(rows) - target) / 50) ** 2).mean().backward()
        steps.step()
    return network.eval()


def keep(name: str, network: nn.Module, rows: torch.Tensor) -> None:
    # The number of rows is free.
    torch.onnx.export(
        network,
        (rows[:2],),
        str(FOLDER / f"{name}.onnx"),
        input_names=["rows"],
        output_names=["outcome"],
        dynamic_axes={"rows": {0: "count"}, "outcome": {0: "count"}},
        opset_version=17,
        dynamo=False,
    )
    shown = rows[:24]
    with torch.no_grad():
        told = {"rows": shown.tolist(), "predicted": network(shown).double().ravel().tolist()}
    (FOLDER / f"{name}.json").write_text(json.dumps(told) + "\n")


rows = torch.cat([customers, prices], dim=1)
keep("torch_revenue", fitted(Scaled([1, 1, 50]), rows, revenue), rows)
keep("torch_price", fitted(Scaled([1, 1]), customers, worth * 0.8), customers)
