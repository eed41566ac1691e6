"""A nightly at work: its file, its nights, what they left, and what starts it."""
