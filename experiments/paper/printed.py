"""The mappers of the paper, and Table III as it prints it (its units are not given)."""

from __future__ import annotations

MARL = "marl"
OWN = "marl_paper"
"""The paper's own agents, without what this project added to them; and their item."""
PAPERS = ("random", "bo", "ga", "gamma", "ppo")
"""The paper's other mappers."""
CONTROLS = ("random_log", "ga_log", "pbil", "marl:agents=1")
"""They tell where a lead of MARL comes from."""

_VALUES = {
    ("mobilenetv2", "latency"): (6.56e-05, 2.00e-04, 1.31e-04, 8.73e-05, 7.55e-05, 6.22e-04),
    ("mobilenetv2", "edp"): (1.00e-05, 1.00e-04, 3.33e-05, 2.50e-05, 1.54e-05, 1.95e-04),
    ("vgg16", "latency"): (7.25e-03, 2.94e-02, 1.08e-02, 9.26e-03, 8.26e-03, 2.36e-01),
    ("vgg16", "edp"): (1.22e-03, 7.87e-03, 2.01e-03, 1.49e-03, 1.41e-03, 2.00e-02),
}
"""What MARL and the other mappers reached, by network (the first part of its layers' names) and
objective."""
_RATIOS = {
    ("mobilenetv2", "latency"): (3.05, 1.99, 1.33, 1.15, 9.48),
    ("mobilenetv2", "edp"): (10.00, 3.33, 2.50, 0.15, 1.95),
    ("vgg16", "latency"): (4.06, 1.48, 1.28, 1.14, 32.61),
    ("vgg16", "edp"): (6.48, 1.65, 1.22, 1.16, 16.45),
}
"""The ratios to MARL's that are printed beside."""

TABLE_3 = {
    key: {
        mapper: (ratio, value / marl)
        for mapper, ratio, value in zip(PAPERS, _RATIOS[key], values, strict=True)
    }
    for key, (marl, *values) in _VALUES.items()
}
"""By network and objective: each mapper's ratio as printed, and as the printed values have it."""
