"""Bringing a phone back that does not answer: what to try next, and trying it."""
