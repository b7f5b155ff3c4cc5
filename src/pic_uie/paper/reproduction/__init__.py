"""The paper's tables again: plan the trainings, run or resume them, score, and set ours beside the paper's."""
