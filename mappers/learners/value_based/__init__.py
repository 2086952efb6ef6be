"""Agents that learn the values of their choices from whole episodes: IQL, VDN and QMIX.

MAST is a set of their settings: sparse networks whose links move, Soft Mellowmax, returns over
several steps once values are good for something, and a share of each batch from the newest
episodes.
"""
