"""Evaluation that can be repeated: metrics, protocols, reports and efficiency."""
