"""Surrogates that predict the EDP of mappings from their vectors: boosted trees and a network."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maestro_env import find_objective
from maestro_env.datasets.parquet import open_dataset
from maestro_env.experiments.shell import cli

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=20_000, help="mappings of each layer")
given = flags.parse_args()
LAYERS = "resnet18_l2,mobilenetv2_l3,bert_base_l4"
SURROGATES = {
    "boosted trees": lambda: HistGradientBoostingRegressor(random_state=0),
    "network 2x64": lambda: make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(64, 64), early_stopping=True, random_state=0),
    ),
}


def split_of(data, layer, split):
    """Return features of valid mappings, sizes as logarithms, and log10 of their EDP."""
    space, edp = data.problems[layer].space, find_objective("edp")
    values = [np.array(each.values if each.is_size else [1]) for each in space.parameters]
    seen, costs = [], []
    for points, rows in data.rows(layer, split):
        valid = rows.status == 0
        columns = [
            np.log(sizes[column]) if len(sizes) > 1 else column
            for sizes, column in zip(values, points[valid].T, strict=True)
        ]
        seen.append(np.stack(columns, axis=1))
        costs.append(np.log10(edp.function(rows.metrics[valid])))
    return np.concatenate(seen), np.concatenate(costs)


with tempfile.TemporaryDirectory() as folder:
    out = str(Path(folder) / "data")
    asked = [f"--layers={LAYERS}", f"--samples={given.samples}", "--draw=log", f"--out={out}"]
    cli.main("dataset", asked)
    data = open_dataset(out)
    for layer in data.problems:
        (seen, costs), (others, truth) = (split_of(data, layer, each) for each in ("train", "test"))
        for name, make in SURROGATES.items():
            predicted = make().fit(seen, (costs - costs.mean()) / costs.std()).predict(others)
            print(f"{layer:16} {name:14} Spearman {spearmanr(truth, predicted).statistic:.3f}")
