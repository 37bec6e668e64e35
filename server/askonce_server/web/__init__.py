"""HTTP for operators: metrics, health, and the page."""
