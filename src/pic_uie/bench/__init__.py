"""Speed and cost of this machine, beside the paper's figures."""
