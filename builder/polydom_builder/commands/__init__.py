"""The commands of ``polydom``: a module each, with its table ``OPTIONS`` and ``run(arguments)``."""
