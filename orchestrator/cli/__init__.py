"""The command line: parse, one call, render, exit code. Commands are loaded when called."""
