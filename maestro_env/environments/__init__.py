"""Environments for Gymnasium, stable-baselines3 and PettingZoo."""
