"""The commands of ``polydom-node``: a module each, with ``add_arguments(parser)`` and ``run(arguments)``."""
