"""What the APIs of providers look like."""
