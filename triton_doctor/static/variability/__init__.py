"""Value flow: expression to Variability, with the path that shows it."""
