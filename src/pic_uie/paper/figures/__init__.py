"""The paper's figures drawn from data: quality against cost, qualitative grids, capacity scan, depth diagnostic."""
