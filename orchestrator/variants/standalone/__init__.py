"""What another Python runs: files that need nothing but its own onnxruntime."""
