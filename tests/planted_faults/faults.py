"""All faults."""

from .builder_faults import BUILDER_FAULTS
from .runtime_faults import RUNTIME_FAULTS

FAULTS = (*RUNTIME_FAULTS, *BUILDER_FAULTS)
