"""PPO in one file, in the style of CleanRL, with many copies of the environment."""

import argparse

import gymnasium
import torch
from torch import nn
from torch.distributions import Categorical

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=50_000, help="mappings to evaluate")
samples = flags.parse_args().samples
torch.manual_seed(0)

# A mapping is the whole episode: its return is its reward.
copies = min(samples, 256)
envs = gymnasium.make_vec(
    "maestro_env:MaestroEnv-v1",
    copies,
    vectorization_mode="vector_entry_point",
    layer="resnet18_l2",
    episode_length=1,
    reward="log",
)
seen = envs.single_observation_space.shape[0]
sizes = envs.single_action_space.nvec.tolist()
actor = nn.Sequential(nn.Linear(seen, 64), nn.Tanh(), nn.Linear(64, sum(sizes)))
critic = nn.Sequential(nn.Linear(seen, 64), nn.Tanh(), nn.Linear(64, 1))
optimiser = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=3e-3)


def heads(observations):
    """One distribution for each parameter of the mapping."""
    return [Categorical(logits=part) for part in actor(observations).split(sizes, dim=1)]


observations, info = envs.reset(seed=0)
for update in range(samples // copies):
    before = torch.as_tensor(observations)
    with torch.no_grad():
        now = heads(before)
        drawn = [head.sample() for head in now]
        old = sum(head.log_prob(choice) for head, choice in zip(now, drawn, strict=True))
    observations, rewards, _, _, info = envs.step(torch.stack(drawn, dim=1).numpy())
    returns = torch.as_tensor(rewards, dtype=torch.float32)
    for _ in range(4):
        now = heads(before)
        new = sum(head.log_prob(choice) for head, choice in zip(now, drawn, strict=True))
        values = critic(before).squeeze(1)
        advantage = returns - values.detach()
        ratio = (new - old).exp()
        gain = torch.min(ratio * advantage, ratio.clip(0.8, 1.2) * advantage).mean()
        entropy = sum(head.entropy().mean() for head in now)
        optimiser.zero_grad()
        ((values - returns).square().mean() - gain - 0.001 * entropy).backward()
        optimiser.step()
    if update % 20 == 0:
        print(f"{(update + 1) * copies:6} samples: mean reward {rewards.mean():.2f}")
print("best EDP:", envs.unwrapped.best_objective, "cycles x nJ")
