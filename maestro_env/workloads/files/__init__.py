"""Readers of networks: ONNX, PyTorch, CSV, MAESTRO, Timeloop, AccelForge."""
