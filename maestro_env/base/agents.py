"""Agents without networks in the core: their heads, their learning, and the best samples.

Random numbers are those of numpy's ``Generator``, in its order, of whose bits ``bits`` is the
capsule; functions such as exp are numpy's own, and sums have its order. So results have the bits
that formulas of numpy give.
"""

from maestro_env._native import Heads, StatelessAgents, best_samples, redrawn

__all__ = ["Heads", "StatelessAgents", "best_samples", "redrawn"]
