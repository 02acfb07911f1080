"""Reports: one page of HTML about a bundle, a flight recording or a device profile."""
