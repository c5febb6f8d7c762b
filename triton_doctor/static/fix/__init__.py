"""Plans to edited files: the only side that imports libcst, and that only for files with something to edit."""
