"""`python -m triton_doctor`."""

import sys

from triton_doctor.cli import main

if __name__ == "__main__":
    sys.exit(main())
