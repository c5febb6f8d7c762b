"""What runs inside a child of a sweep: it imports neither `static` nor libcst, and calls one entry of the project."""
