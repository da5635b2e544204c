"""`python -m torusdb` is `torusdb`."""

import sys

from torusdb.cli import main

sys.exit(main())
