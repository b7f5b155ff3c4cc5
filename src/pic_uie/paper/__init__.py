"""What the paper compares with, and what it prints."""
