"""MAPPO of TorchRL on the PettingZoo form, to enter the benchmark with (docs/benchmark.md).

maestro-env benchmark run examples.mappo:Mappo --seeds 1

Each agent chooses one parameter of the mapping; it needs the extra ``examples``.
"""

import numpy as np
import torch
from tensordict.nn import InteractionType, TensorDictModule, TensorDictSequential
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

from maestro_env import parallel_env
from maestro_env.mappers.base import Mapper
from maestro_env.mappers.parts.threads import one_thread

BATCH = 100


class Mappo(Mapper):
    """PPO of every agent, whose critics see what all agents see."""

    def search(self, evaluator, budget, rng):
        space = evaluator.space
        env = PettingZooWrapper(
            parallel_env(
                layer=space.layer,
                hardware=space.hardware,
                objective=evaluator.objective,
                episode_length=1,
                reward="log",
            ),
            group_map=MarlGroupMapType.ONE_GROUP_PER_AGENT,
            categorical_actions=True,
            seed=0,
        )
        torch.manual_seed(int(rng.integers(2**31)))
        with one_thread():
            team, losses = self._learners(env)
            weights = [weight for loss in losses for weight in loss.parameters()]
            optimiser = torch.optim.Adam(weights, lr=3e-3)
            while evaluator.remaining:
                with torch.no_grad():
                    steps = min(BATCH, evaluator.remaining)
                    data = env.rollout(steps, team, break_when_any_done=False)
                # Agents stand in the order of the vector.
                chosen = [data[agent, "action"].reshape(-1) for agent in env.possible_agents]
                evaluator.evaluate(np.stack(chosen, axis=1).astype(np.int32))
                for _ in range(4):
                    terms = [(name, term) for loss in losses for name, term in loss(data).items()]
                    total = sum(term for name, term in terms if name.startswith("loss_"))
                    optimiser.zero_grad()
                    total.backward()
                    optimiser.step()

    def _learners(self, env):
        """Return the policy of all agents, and the loss of each."""
        actors, losses = [], []
        for agent in env.possible_agents:
            seen, sees = (
                env.observation_spec[agent, "observation"].shape[-1],
                (agent, "observation"),
            )
            choices, logits = env.full_action_spec[agent, "action"].space.n, (agent, "logits")
            actor = ProbabilisticActor(
                TensorDictModule(MLP(seen, choices, num_cells=[64]), [sees], [logits]),
                in_keys={"logits": logits},
                out_keys=[(agent, "action")],
                distribution_class=torch.distributions.Categorical,
                return_log_prob=True,
                log_prob_key=(agent, "log_prob"),
                default_interaction_type=InteractionType.RANDOM,
            )
            critic = ValueOperator(MLP(seen, 1, num_cells=[64]), [sees], [(agent, "value")])
            loss = ClipPPOLoss(actor, critic)
            ends = ("action", "reward", "done", "terminated", "value")
            keys = {key: (agent, key) for key in ends}
            loss.set_keys(sample_log_prob=(agent, "log_prob"), **keys)
            loss.make_value_estimator(gamma=1.0, lmbda=1.0)
            actors.append(actor)
            losses.append(loss)
        return TensorDictSequential(*actors), losses
