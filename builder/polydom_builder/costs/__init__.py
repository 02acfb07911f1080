"""What features, steps and models cost on the device that is planned for."""
