"""NNAPI as ONNX Runtime's execution provider sees it: which nodes it claims and why not, in pure functions."""
