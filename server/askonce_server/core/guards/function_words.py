"""Words that carry no topic: they count for order and negation, never as shared content."""

from __future__ import annotations

ARTICLES = frozenset("a an the".split())

AUXILIARIES = frozenset(
    """
    am are is was were be been being do does did doing done has have had having
    can could will would shall should may might must
    im ive id ill youre youve youd were weve theyre theyve its thats theres whats wheres whos hows whens
    s t re ve ll d m
    """.split()
)

FILLERS = frozenset(
    """
    please pls plz thanks thank thx cheers ta hi hello hey hiya hullo greetings dear
    um umm uh uhm er erm ah oh ok okay so well like just basically actually really kindly right_now
    hmm yeah yep sorry regards sir madam anyway btw
    """.split()
)
"""Politeness and hesitation; left out before word order is compared."""

PRONOUNS = frozenset(
    """
    i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves one ones this that these those there here
    who whom whose which what when where why how whatever whichever whoever
    someone somebody anyone anybody everyone everybody something anything everything any some such
    each every all both either other another
    """.split()
)

PREPOSITIONS = frozenset(
    """
    about above across after against along among around as at before behind below beneath beside besides
    beyond by despite down during except for from in inside into near of off on onto out outside over past
    per since through throughout till to toward towards under until up upon via with within without
    """.split()
)

CONNECTIVES = frozenset(
    """
    and or but nor if then than because while whilst although though whether unless once versus vs also too
    """.split()
)

JOINTS = frozenset("and or vs versus between but either both".split())
"""What they join can trade places."""

HEADS = (PREPOSITIONS | CONNECTIVES) - JOINTS
"""A phrase begins with one of these."""

WH = frozenset("who whom whose which what when where why how".split())

NEGATIVES = frozenset("no not never none neither nor nothing nobody nowhere cannot".split())

GENERIC = frozenset(
    """
    get got getting gets go going goes gone want wants wanted need needs needed like likes know knows known
    tell say says said help helps let lets make makes made give gives given take takes took show
    come comes came put see look looking try trying tried use uses using used ask asking find
    mean means work works working happen happens happened wonder wondering explain describe
    able possible
    """.split()
)
"""Verbs, and two adjectives, of every topic: no content, yet they can be negated."""

_VAGUE = frozenset(
    """
    thing things way ways lot lots bit much many more most very too still yet even ever only again
    question
    """.split()
)

FUNCTION = (
    ARTICLES
    | AUXILIARIES
    | FILLERS
    | PRONOUNS
    | PREPOSITIONS
    | CONNECTIVES
    | WH
    | NEGATIVES
    | GENERIC
    | _VAGUE
)
"""What is no content word."""

SILENT = FUNCTION - GENERIC
"""What says nothing by itself."""

STARTERS = FUNCTION | frozenset(
    """
    add book buy calculate call cancel change check compare convert could create define delete describe
    draft enable explain find fix generate give list make move open order pay play print read remind remove
    reserve reset return schedule search send set show start stop summarise summarize tell track transfer
    translate turn update use write
    """.split()
)
"""Words that are capitalized for standing first, not for being names."""

ADVERBS = frozenset(
    """
    today tomorrow yesterday tonight now currently usually normally generally again already still also
    instead exactly roughly approximately online soon anymore last longer already sudden suddenly
    immediately away ago recently
    """.split()
)
"""Words that move through a sentence without changing it."""
