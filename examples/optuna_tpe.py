"""Optuna's sampler TPE searches for a mapping, and learns from those that do not fit."""

import argparse

import optuna

from maestro_env import MapSpace, Problem, find_hardware, find_layer

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=500, help="mappings to evaluate")
samples = flags.parse_args().samples

# Of random mappings 1 in 900 fits the buffers of this accelerator.
problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("edge")))
cost = problem.objective("edp")


def edp(trial):
    """Evaluate one mapping, given as the values of all parameters by name."""
    values = {}
    for parameter in cost.parameters:
        if parameter.kind == "parallel":
            value = trial.suggest_categorical(parameter.name, parameter.values)
        else:
            value = trial.suggest_int(parameter.name, *parameter.bounds, log=parameter.log)
        values[parameter.name] = value
    # The violation is 0 of a mapping that fits, else it grows with what is missing.
    value, violation = cost.evaluate(values)
    trial.set_constraint("violation", violation)
    return value


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, constant_liar=False))
study.optimize(edp, n_trials=samples)

valid = sum(cost.violation(trial.params) == 0 for trial in study.trials)
print(f"{valid} of {samples} mappings are valid")
if valid:
    print(f"best EDP: {study.best_value:.4g} cycles x nJ")
    print(problem.space.decode(problem.space.from_values(study.best_params)))
