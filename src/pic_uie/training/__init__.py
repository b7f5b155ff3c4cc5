"""Training: configuration, data, losses, loop, checkpoints."""
