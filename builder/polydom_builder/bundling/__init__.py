"""From the chosen candidates to a bundle on the disk: export of models, choice of quantiles, writing."""
