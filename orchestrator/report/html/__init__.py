"""Pure but for reading its own templates: a run's report as one HTML file that opens without a network."""
