"""The only code that writes below ``.pi/``."""
