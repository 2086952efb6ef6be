"""The 32 decoder layers of Llama-3-8B, without weights: the best mapping of each distinct layer."""

import argparse
import time

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, silu

from maestro_env.experiments.network.networks import map_network

WIDTH, HEADS, KEY_HEADS, HIDDEN, BLOCKS = 4096, 32, 8, 14336, 32
OF_HEAD = WIDTH // HEADS

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--tokens", type=int, default=128, help="of the prompt")
flags.add_argument("--hardware", default="edge", help="as for maestro-env map")
arguments = flags.parse_args()


class Decoder(nn.Module):
    """Attention with groups of queries, then a gated network."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key = nn.Linear(WIDTH, KEY_HEADS * OF_HEAD, bias=False)
        self.value = nn.Linear(WIDTH, KEY_HEADS * OF_HEAD, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.before, self.between = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.before(x)
        parts = (self.query(seen), self.key(seen), self.value(seen))
        heads = [each.unflatten(2, (-1, OF_HEAD)).transpose(1, 2) for each in parts]
        mixed = scaled_dot_product_attention(*heads, is_causal=True, enable_gqa=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        seen = self.between(x)
        return x + self.down(silu(self.gate(seen)) * self.up(seen))


began = time.perf_counter()
# On this device tensors have shapes and no values.
with torch.device("meta"):
    module = nn.Sequential(*(Decoder() for _ in range(BLOCKS)))
    tokens = torch.empty(1, arguments.tokens, WIDTH)
result = map_network(module, tokens, hardware=arguments.hardware)
best = result.best_of_network()
seconds = time.perf_counter() - began
print(f"{len(result.layers)} distinct layers, mapped in {seconds:.1f} s")
print(f"{best.latency_cycles:,.0f} cycles, {best.energy_nj:,.0f} nJ")
above = best.edp / result.bound - 1
print(f"EDP {best.edp:.4g} cycles x nJ, {above:.1%} above what no mapping can beat")
