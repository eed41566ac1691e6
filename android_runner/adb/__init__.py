"""The one door to the real adb server: finding phones, the transport, the file service."""
