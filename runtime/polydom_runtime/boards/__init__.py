"""Reports about boards, by their owners: figures that the shipped device profiles lack."""
