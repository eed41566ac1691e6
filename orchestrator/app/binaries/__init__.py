"""Prebuilt programs and libraries of ONNX Runtime: taken in, kept, checked, chosen for a phone."""
