"""Many files: sources, output mapping, ledger, workers."""
