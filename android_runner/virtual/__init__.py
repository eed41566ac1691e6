"""Virtual phones: a product of their own, reached only through a true adb server."""
