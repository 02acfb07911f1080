"""The commands of ``polydom``: a module each, with ``add_arguments(parser)`` and ``run(arguments)``."""
