"""What is remembered: pure functions without input or output."""
