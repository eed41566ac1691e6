"""Pure: the code that makes a session exactly as it was measured, for an app to paste."""
