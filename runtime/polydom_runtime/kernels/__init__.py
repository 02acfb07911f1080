"""Models without an engine: a strict reader of ONNX, and numpy code that answers one row.

An engine such as onnxruntime takes most of its time for a small model to find its way through its own code; a kernel
is a short list of numpy calls on arrays that are made once. Files that are not sound raise `BundleFormatError`, and
sound ones without a kernel `UnknownModel`.
"""
