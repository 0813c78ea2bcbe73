"""Register with hosts and unregister, every file given back byte for byte."""
