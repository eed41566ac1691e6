"""A true `adbd` as a target for `make test-device`: Debian's package, in a root of its own, on a network of its own."""
