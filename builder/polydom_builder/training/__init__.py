"""Scores and models: the table of features, its folds, the trainer and the conversion to ONNX."""
