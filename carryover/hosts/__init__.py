"""Hosts: one host's events translated into lifecycle calls, nothing more."""
