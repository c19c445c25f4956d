"""Programs with a mistake about shapes, which the released frameworks run: what axiscast says about each."""
