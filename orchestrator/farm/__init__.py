"""Pure state (events in, commands out), and the thin loop that carries commands to phones."""
