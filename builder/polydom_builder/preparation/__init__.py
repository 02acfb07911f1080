"""Everything before the search: checked parameters, costs of the device, features of the items, a trainer."""
