"""What values a network takes, and the scales that follow from it."""
