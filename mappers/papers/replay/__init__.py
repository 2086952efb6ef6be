"""Replay of joint steps: how the steps of N agents are stored, and which rows are read."""
