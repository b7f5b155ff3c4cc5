"""Data sets that the field shares: the known test lists, and folders as they are published."""
