"""Changes made to a source model before it is converted, one module a subject; they run where onnx may be imported."""
