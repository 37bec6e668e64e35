"""Opposite qualities, places and measures: two sides per line, written as `lexicon` says."""

from __future__ import annotations

QUALITIES = """
more | less fewer
most | least
maximum max | minimum min
best | worst
better | worse
good | bad
positive | negative
advantage benefit pros upside strength perk | disadvantage drawback cons downside weakness
benefit advantage | risk danger side_effect harm
like | dislike
right correct | wrong incorrect
right | left
true | false
real genuine authentic | fake counterfeit
yes | no_
always | never sometimes
often frequently | rarely seldom
common usual | rare unusual uncommon
everyone everybody all | nobody none
early+ | late+
earliest | latest
on_time punctual | late delayed overdue
one_off | recurring
into | out_of
first | last
next upcoming coming | previous last past
former | latter
old+ | new+
old+ elderly | young+
new+ | used second_hand secondhand
ancient | modern
fresh | stale frozen
fresh | dried canned tinned
fast+ quick+ rapid | slow+
cheap+ inexpensive affordable | expensive costly pricey
big+ large+ | small+ little tiny
bigger larger | smaller
high+ | low+
higher | lower
upper | lower
tall+ | short+
long+ | short+
long_term | short_term
long_haul | short_haul
wide+ broad+ | narrow+
thick+ | thin+
heavy heavier heaviest | light+
deep+ | shallow+
strong+ | weak+
hard+ difficult tough+ | easy easier easiest simple+
hard+ | soft+
rough+ | smooth+
sharp+ | blunt+
bright+ | dim+ dark+
dark+ | light+
hot+ warm+ | cold+ cool+
wet+ damp | dry drier driest
full | empty
full | partial half
whole complete | part partial half
rich+ wealthy | poor+
loud+ noisy | quiet+ silent
healthy | unhealthy sick
spicy hot | mild
sweet | sour bitter salty savoury savory
raw | cooked
lean | fatty
tight+ | loose+
straight | curly crooked
happy | sad unhappy
polite | rude
calm | nervous anxious
lazy | active
brave | cowardly
alive living | dead
awake | asleep
strict | lenient
formal | informal casual
serious | funny humorous
simple+ basic | complex complicated
basic | advanced
beginner novice newbie | advanced expert
junior | senior
minor | major
majority | minority
primary | secondary
public | private
domestic | international overseas foreign
home | international overseas
national | international
local | global
local | remote
urban | rural
internal | external
inner | outer
inside indoor indoors | outside outdoor outdoors
inbound incoming | outbound outgoing
top | bottom
front | back rear
frontend front_end | backend back_end
above | below
over | under
at_least minimum_of | at_most maximum_of no_more_than
more_than over | less_than fewer_than under
upstairs | downstairs
upstream | downstream
ahead | behind
forward forwards | backward backwards
near nearest close_to closest | far furthest farthest
horizontal | vertical
row | column
north northern | south southern
east eastern | west western
clockwise | anticlockwise counterclockwise
credit | debit
asset | liability
surplus | deficit
supply | demand
gross | net
wholesale | retail
bull bullish | bear bearish
paid chargeable | free complimentary
free | premium
free | busy occupied
available in_stock | unavailable sold_out out_of_stock
vacant | occupied engaged
permanent | temporary
fixed fixed_rate | variable floating adjustable tracker
static | dynamic
synchronous sync | asynchronous async
sequential serial | parallel concurrent
manual manually | automatic automatically auto
single | double
single | multiple several
single one_way | return round_trip
single unmarried | married
full_time fulltime | part_time parttime
full_board | half_board
employed | unemployed self_employed
permanent | contract freelance
mandatory compulsory required obligatory | optional voluntary
legal lawful | illegal unlawful
online | offline in_store in_person in_branch paper
digital electronic | paper physical analog analogue
virtual | physical in_person
remote remotely | in_office onsite on_site
wired | wireless
prepaid | postpaid
taxable | tax_free exempt
singular | plural
masculine | feminine
active | passive
similar similarity alike | different difference
same | different opposite
theoretical | practical
abstract | concrete
objective | subjective
qualitative | quantitative
rational | emotional
cause | effect
prefix | suffix
synonym | antonym
question | statement
acid acidic | alkaline base
conductor | insulator
male man boy | female woman girl
mens | womens
gents | ladies
husband | wife
mother mom | father dad
brother | sister
son | daughter
grandmother grandma | grandfather grandad grandpa
uncle | aunt
king | queen
parent | child
adult adults grown_up | child infant
friend | enemy
predator | prey
friendly | hostile
vegetarian vegan veggie | meat non_vegetarian
vegetarian | vegan
smoking | non_smoking
with_milk | without_milk
in_season | out_of_season
peak | off_peak
high_season | low_season
weekday | weekend
daytime day | night nighttime overnight
"""
