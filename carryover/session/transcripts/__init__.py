"""One tail reader for each host's session file."""
