"""What the nodes mean that training adds to a network."""
