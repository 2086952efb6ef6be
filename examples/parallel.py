"""Many agents, one mapping: each learns one parameter by PPO, with PettingZoo and TorchRL."""

import argparse

import torch
from tensordict.nn import InteractionType, TensorDictModule, TensorDictSequential
from torchrl.envs import MarlGroupMapType, PettingZooWrapper
from torchrl.modules import MLP, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss

import maestro_env

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=2048, help="mappings to evaluate")
samples = flags.parse_args().samples
torch.manual_seed(0)

# A mapping is the whole episode, so no value follows it.
mapping_env = maestro_env.parallel_env(layer="resnet18_l2", episode_length=1, reward="log")
env = PettingZooWrapper(
    mapping_env, group_map=MarlGroupMapType.ONE_GROUP_PER_AGENT, categorical_actions=True, seed=0
)
seen = mapping_env.state_space.shape[0]
actors, losses = [], {}
for agent in env.possible_agents:
    sees, logits = [(agent, "observation")], (agent, "logits")
    network = MLP(seen, int(mapping_env.action_space(agent).n), num_cells=[64])
    actor = ProbabilisticActor(
        TensorDictModule(network, sees, [logits]),
        in_keys={"logits": logits},
        out_keys=[(agent, "action")],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
        log_prob_key=(agent, "log_prob"),
        default_interaction_type=InteractionType.RANDOM,
    )
    critic = ValueOperator(MLP(seen, 1, num_cells=[64]), sees, [(agent, "value")])
    loss = ClipPPOLoss(actor, critic)
    ends = {key: (agent, key) for key in ("action", "reward", "done", "terminated", "value")}
    loss.set_keys(sample_log_prob=(agent, "log_prob"), **ends)
    loss.make_value_estimator(gamma=1.0, lmbda=1.0)
    actors.append(actor)
    losses[agent] = loss
team = TensorDictSequential(*actors)
optimiser = torch.optim.Adam([p for each in losses.values() for p in each.parameters()], lr=3e-3)

batch = min(samples, 128)
for start in range(0, samples, batch):
    with torch.no_grad():
        data = env.rollout(batch, team, break_when_any_done=False)
    for _ in range(4):
        terms = [loss(data) for loss in losses.values()]
        total = sum(sum(v for k, v in term.items() if k.startswith("loss_")) for term in terms)
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
    reward = data["next", "agent_0", "reward"].mean()
    print(f"{start + batch:6} samples: mean reward {reward:.2f}")
print(mapping_env.single.best_mapping, f"{mapping_env.single.best_objective:.4g} cycles x nJ")
