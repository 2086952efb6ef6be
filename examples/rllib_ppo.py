"""PPO of RLlib, by the environment's name."""

import argparse

from ray.rllib.algorithms.ppo import PPOConfig

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=5_000, help="mappings to evaluate")
samples = flags.parse_args().samples

batch = min(samples, 512)
config = (
    PPOConfig()
    .environment(
        "maestro_env:MaestroEnv-v1",
        # A mapping is the whole episode: its return is its reward.
        env_config={"layer": "resnet18_l2", "episode_length": 1, "reward": "log"},
    )
    # The samples are drawn in this process.
    .env_runners(num_env_runners=0)
    .training(train_batch_size=batch, minibatch_size=min(batch, 128), num_epochs=4, lr=3e-3)
    .debugging(seed=0)
)
learner = config.build_algo()
for update in range(samples // batch):
    learnt = learner.train()["env_runners"]
    print(f"{(update + 1) * batch:6} samples: mean reward {learnt['episode_return_mean']:.2f}")
(best,) = learner.env_runner.env.unwrapped.get_attr("best_objective")
print(f"best EDP: {best:.4g} cycles x nJ")
learner.stop()
