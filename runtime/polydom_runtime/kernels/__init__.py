"""Models without an engine: a strict reader of ONNX, and numpy code that answers one row.

An engine such as onnxruntime takes most of its time for a small model to find its way through its own code, above all
after other work has used the caches. A kernel is a short list of numpy calls on arrays that are made once.

What reads or checks a file here raises `BundleFormatError` for one that is not sound, and `UnknownModel` if there is
no kernel for one that is.
"""
