"""The cost models of two levels, which most tests of cost models are about."""

from maestro_env.evaluation.models import models_with

MODELS = models_with("levels")
