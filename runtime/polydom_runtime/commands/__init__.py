"""The commands of ``polydom-node``: a module each, with its table ``OPTIONS`` and ``run(arguments)``."""
