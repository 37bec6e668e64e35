"""Units of measure and money: how they are spelt, and what they are worth in another of their kind."""

from __future__ import annotations

DAY = 86_400
SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": DAY,
    "night": DAY,
    "week": 7 * DAY,
    "fortnight": 14 * DAY,
}
"""Durations of a fixed length. Data sizes, lengths and weights are not converted: 1 GB is 1000 MB to some."""

MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}

_SPELLINGS = """
second: s sec secs second seconds|minute: min mins minute minutes|hour: h hr hrs hour hours
day: d day days|night: night nights|week: wk wks week weeks|fortnight: fortnight fortnights
month: mo mth mths month months|year: y yr yrs year years yo|decade: decade decades
century: century centuries|ms: ms millisecond milliseconds
byte: byte bytes|kb: kb kilobyte kilobytes kib|mb: mb meg megs megabyte megabytes mib
gb: gb gig gigs gigabyte gigabytes gib|tb: tb terabyte terabytes tib|kbps: kbps|mbps: mbps|gbps: gbps
mm: mm millimetre millimeter millimetres millimeters|cm: cm centimetre centimeter centimetres centimeters
metre: metre metres meter meters|m: m|km: km kms kilometre kilometer kilometres kilometers
mile: mi mile miles|foot: ft foot feet|inch: inch inches|yard: yd yard yards
mg: mg milligram milligrams|mcg: mcg microgram micrograms|gram: g gram grams gramme grammes
kg: kg kgs kilo kilos kilogram kilograms|lb: lb lbs|oz: oz ounce ounces|stone: stone
tonne: tonne tonnes ton tons|cl: cl|ml: ml millilitre milliliter millilitres milliliters
litre: l litre liter litres liters|pint: pint pints|gallon: gallon gallons|cup: cup cups
tbsp: tbsp tablespoon tablespoons|tsp: tsp teaspoon teaspoons
celsius: c celsius centigrade|fahrenheit: f fahrenheit|kelvin: kelvin|degree: ° degree degrees deg
watt: w watt watts|kw: kw kilowatt kilowatts|kwh: kwh|volt: v volt volts|amp: amp amps|mah: mah
hz: hz hertz|khz: khz|mhz: mhz|ghz: ghz|percent: % percent pct|mph: mph|kph: kph kmh
dollar: $ dollar dollars buck bucks|usd: usd|cad: cad|aud: aud|gbp: £ gbp quid sterling
pound: pound pounds|euro: € eur euro euros|penny: p penny pence|cent: cent cents|yen: ¥ jpy yen
rupee: ₹ inr rupee rupees|chf: chf franc francs|yuan: cny rmb yuan|krona: sek krona|won: ₩ krw
ruble: ₽ rub ruble rubles|zloty: pln zloty|lira: ₺ lira|btc: btc bitcoin bitcoins|eth: eth ether
"""
UNITS = {
    word: unit
    for unit, words in (line.split(": ") for line in _SPELLINGS.strip().replace("\n", "|").split("|"))
    for word in words.split()
}
"""Spelling to unit."""

SHORT = frozenset("s h d m y c f v w p l mo mi g".split())
"""Spellings that mean a unit only right behind digits."""

APART = frozenset("l m g h v w c f".split())
"""Those that do so behind a space too."""

BEFORE = frozenset("$ £ € ¥ ₹ ₩ ₽ ₺ usd gbp eur jpy cad aud chf inr cny".split())
"""Currencies that are written before the number."""

WIDER = {
    "usd": "dollar",
    "cad": "dollar",
    "aud": "dollar",
    "gbp": "pound",
    "lb": "pound",
    "celsius": "degree",
    "fahrenheit": "degree",
    "metre": "m",
}
"""What a unit is called by those who say less."""

CURRENCIES = frozenset(
    """
    dollar usd cad aud gbp pound euro penny cent yen rupee chf yuan krona won ruble zloty lira btc eth
    """.split()
)
DURATIONS = frozenset(SECONDS) | frozenset(MONTHS)
