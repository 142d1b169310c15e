"""Tags of stock: bars and numbers of units."""
