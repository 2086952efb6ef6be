"""PPO of TorchRL, with many copies of the environment that step together."""

import argparse

import gymnasium
import torch
from tensordict.nn import InteractionType, NormalParamExtractor, TensorDictModule
from torchrl.envs import GymWrapper
from torchrl.modules import MLP, ProbabilisticActor, TanhNormal, ValueOperator
from torchrl.objectives import ClipPPOLoss

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=20_000, help="mappings to evaluate")
samples = flags.parse_args().samples
torch.manual_seed(0)

# A mapping is the whole episode: its return is its reward.
copies = min(samples, 128)
vector = gymnasium.make_vec(
    "maestro_env:MaestroEnv-v1",
    copies,
    vectorization_mode="vector_entry_point",
    layer="resnet18_l2",
    action="box",
    episode_length=1,
    reward="log",
)
env = GymWrapper(vector)
seen, chosen = env.observation_spec["observation"].shape[-1], env.action_spec.shape[-1]
network = torch.nn.Sequential(MLP(seen, 2 * chosen, num_cells=[64]), NormalParamExtractor())
actor = ProbabilisticActor(
    TensorDictModule(network, ["observation"], ["loc", "scale"]),
    in_keys=["loc", "scale"],
    distribution_class=TanhNormal,
    return_log_prob=True,
    default_interaction_type=InteractionType.RANDOM,
)
loss = ClipPPOLoss(actor, ValueOperator(MLP(seen, 1, num_cells=[64]), ["observation"]))
loss.make_value_estimator(gamma=1.0, lmbda=1.0)
optimiser = torch.optim.Adam(loss.parameters(), lr=3e-3)

for update in range(samples // copies):
    with torch.no_grad():
        data = env.rollout(1, actor, break_when_any_done=False)
    for _ in range(4):
        total = sum(value for name, value in loss(data).items() if name.startswith("loss_"))
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
    if update % 20 == 0:
        reward = data["next", "reward"].mean()
        print(f"{(update + 1) * copies:6} samples: mean reward {reward:.2f}")
print(f"best EDP: {vector.evaluator.best.value:.4g} cycles x nJ")
