"""The bags' messages are made by the module that the unit tests of bags use."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "unit" / "bags"))
