"""Understanding one enhancement: the executor step by step, the statistics, and the sheet that shows them."""
