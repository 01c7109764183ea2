"""`python -m tfprof` is the command."""

import sys

from tfprof._command import main

sys.exit(main())
