"""Preparing a phone for measuring, and putting it back: what can be set, in which steps, and how it is undone."""
