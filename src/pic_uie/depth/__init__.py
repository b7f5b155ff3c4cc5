"""Depth maps of pictures by a monocular network, for the depth term of training."""
