"""What the operator configures, and how it becomes rules."""
