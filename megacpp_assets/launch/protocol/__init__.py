"""What the launching machine and the training machine exchange, and how."""
