"""Guards: what makes two near texts ask for different things, whatever their similarity says.

`features` is what is kept of a text, tokens under the store's key and no text; `judge` compares what is kept
of two texts. They err on the side of telling texts apart: that costs a hit, the other side would cost a wrong
one.
"""

from askonce_server.core.guards.features import SCHEMA, GuardFeatures, Token, features
from askonce_server.core.guards.settings import ALL_OFF, GuardSettings
from askonce_server.core.guards.veto import NAMES, GuardHit, all_hits, compare, judge
from askonce_server.core.guards.wire import from_bytes, to_bytes

__all__ = [
    "ALL_OFF",
    "NAMES",
    "SCHEMA",
    "GuardFeatures",
    "GuardHit",
    "GuardSettings",
    "Token",
    "all_hits",
    "compare",
    "features",
    "from_bytes",
    "judge",
    "to_bytes",
]
