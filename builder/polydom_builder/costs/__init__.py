"""The costs of features, steps and models on the device that the bundle is built for."""
