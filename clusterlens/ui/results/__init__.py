"""Results that several pages show, derived from the analysis and the view state."""
