"""Who may do what; until authentication exists everybody may do everything."""
