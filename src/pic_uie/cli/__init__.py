"""The command `pic-uie`: one module per verb."""
