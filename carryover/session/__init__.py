"""One agent session, from start to exit."""
