"""Device profiles: one TOML file a phone, read through `android_runner.profile`."""
