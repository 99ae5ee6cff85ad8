"""The attributes of products: every value in the words of the title first, then in other words of users."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

Value: TypeAlias = tuple[str, ...]  # the title's form, then users' forms, the usual ones first

# Values are divided by commas, the forms of one value by strokes; an indented line goes on with the one before.
_IN_WORDS = """
colour: Black|blk, White|wht, Grey|gray|dark grey, Navy|navy blue|dark blue, Blue|royal blue, Sky Blue|light blue,
    Red|bright red, Burgundy|wine red|maroon, Green|grass green, Olive|olive green|khaki, Pink|rose, Purple|violet,
    Yellow|lemon, Orange|coral, Brown|chocolate, Beige|sand|cream, Teal|turquoise, Gold|golden, Silver|silvery
clothing size: XS|x small|extra small, S|small, M|medium, L|large, XL|x large|extra large, XXL|2xl, 3XL|xxxl
audience: Men|mens|for men, Women|womens|ladies|for women, Unisex|adults, Kids|childrens|for kids
fabric: Cotton, Organic Cotton|bio cotton, Merino Wool|merino, Wool|woolen, Linen, Polyester|poly, Fleece, Denim|jean,
    Silk|silky, Bamboo|viscose, Microfiber|microfibre, Corduroy|cord
leather: Leather|genuine leather, Suede, Vegan Leather|faux leather|pu leather, Canvas, Nylon, Mesh|breathable,
    Knit|knitted, Gore-Tex|goretex|waterproof
fit: Slim Fit|slim, Regular Fit|regular, Relaxed Fit|relaxed|loose, Oversized|baggy, Stretch|stretchy, Tall
pattern: Plain|solid, Striped|stripes, Floral|flowers, Checked|plaid, Dotted|polka dot, Camouflage|camo, Geometric,
    Paisley, Herringbone
metal: Stainless Steel|steel|inox, Aluminium|aluminum, Copper, Cast Iron|iron, Brass, Titanium|titan, Carbon Steel
wood: Oak|solid oak, Walnut, Pine|pinewood, Beech, Bamboo, Acacia, Birch, Teak, White Lacquer|white wood, Mahogany
surface: Non-Stick|nonstick|coated, Ceramic, Enamel|enamelled, Granite|stone coated, Uncoated|plain, Anodised
room: Bedroom, Living Room|lounge, Kitchen, Bathroom|bath, Office|desk, Nursery|baby room, Hallway|entryway, Outdoor
bed size: Single|90x200|twin, Double|140x200|full, Queen|160x200, King|180x200, Super King|200x200|cal king
connection: Bluetooth|bt|wireless, USB-C|usb c|type c, USB-A|usb, Wi-Fi|wifi|wlan, Lightning, 2.4 GHz|cordless,
    Wired|with cable, HDMI, Thunderbolt
device: Phone|smartphone|mobile, Tablet|tab, Laptop|notebook, Camera|dslr, Console|gaming, Watch|smartwatch,
    Car|vehicle
resolution: Full HD|1080p|fhd, 4K|uhd|2160p, QHD|1440p|2k, 8K, HD Ready|720p
flavour: Vanilla, Chocolate|choc|cocoa, Strawberry, Caramel|toffee, Hazelnut|nut, Lemon|citrus, Mint|peppermint,
    Berry|mixed berries, Coconut, Ginger, Cinnamon, Peach, Mango, Unflavoured|natural|plain
roast: Light Roast|light, Medium Roast|medium, Dark Roast|dark|strong, Decaf|decaffeinated, Espresso Roast|espresso
diet: Organic|bio, Vegan|plant based, Gluten Free|no gluten, Sugar Free|no sugar, Keto|low carb, Fair Trade|fairtrade
care: Organic|bio|natural, Vegan|plant based, Hypoallergenic|for allergies, Cruelty Free|not tested on animals
scent: Lavender, Rose, Sandalwood, Citrus|lemon, Vanilla, Jasmine, Eucalyptus, Unscented|fragrance free, Ocean|sea
    breeze, Cedar, Musk, Coconut
skin: Dry Skin|for dry skin, Oily Skin|oily, Sensitive Skin|sensitive, Normal Skin|normal, Mature Skin|anti aging|anti
    age
hair: Curly Hair|curls, Fine Hair|thin hair, Damaged Hair|repair, Coloured Hair|dyed hair|colour care, Oily Hair, Dry
    Hair
firmness: Soft, Medium|medium firm, Firm|hard, Extra Firm|very firm
theme: Dinosaur|dino, Space|astronaut|rocket, Unicorn, Pirate, Farm|animals, Princess|castle, Car|vehicles,
    Train|railway, Ocean|sea animals, Jungle|safari, Robot, Dragon
plant: Tomato|tomatoes, Basil, Sunflower, Rose, Lavender, Chilli|chili|pepper, Lettuce|salad, Carrot|carrots,
    Wildflower, Strawberry|strawberries, Herb|herbs
animal: Dog|dogs|puppy, Cat|cats|kitten, Rabbit|bunny, Bird|birds|parrot, Hamster|small animals, Fish|aquarium
season: Summer|lightweight, Winter|warm|thermal, All Season|4 season|year round, Three Season|3 season
paper: A4, A5, A3, A6, Letter|us letter, Pocket|mini
ruling: Lined|ruled, Dotted|dot grid|bullet, Squared|grid|graph, Blank|plain
"""


@cache
def attributes() -> dict[str, tuple[Value, ...]]:
    """The values of every attribute."""
    joined = _IN_WORDS.strip().replace("\n    ", " ").splitlines()
    in_words = {name: _split(values) for name, values in (line.split(": ") for line in joined)}
    return in_words | _in_numbers()


def _in_numbers() -> dict[str, tuple[Value, ...]]:
    return {
        "shoe size": tuple((f"{n}", f"size {n}", f"eu {n}") for n in range(35, 48)),
        "child age": tuple((f"{n}-{n + 1} Years", f"{n} years", f"{n} year old", f"age {n}") for n in range(1, 13)),
        "volume": _litres((250, 330, 350, 500, 600, 750, 900, 1000, 1500, 2000)),
        "capacity": _measured((1, 2, 3, 4, 5, 6, 8, 10, 12, 20, 30, 40, 60), "l", "litre", "liters"),
        "bottle": _litres((30, 50, 75, 100, 150, 200, 250, 400, 500)),
        "diameter": _measured((14, 16, 18, 20, 24, 26, 28, 30, 32), "cm", "centimetre"),
        "length": _measured((60, 80, 90, 100, 120, 140, 150, 160, 180, 200), "cm", "centimeter"),
        "cable length": _measured((1, 2, 3, 5, 10, 15, 20), "m", "metre", "meter"),
        "screen": _measured((13, 14, 15, 17, 22, 24, 27, 32, 34, 43, 55, 65), "inch", "in", "inches"),
        "storage": _measured((16, 32, 64, 128, 256, 512, 1024), "GB", "gig", "gigabyte"),
        "memory": _measured((4, 8, 16, 32, 64), "GB RAM", "gb memory", "ram"),
        "power": _measured((5, 10, 20, 30, 45, 65, 100, 150, 500, 800, 1200, 2000), "W", "watt", "watts"),
        "voltage": _measured((12, 18, 20, 24, 36, 40, 56), "V", "volt", "volts"),
        "battery": _measured((2000, 3000, 5000, 10000, 20000, 26800), "mAh", "milliamp"),
        "weight": _measured((100, 200, 250, 400, 500, 750, 1000, 2000), "g", "gram", "grams"),
        "load": _measured((2, 4, 5, 8, 10, 12, 15, 16, 20, 24, 30), "kg", "kilo", "kilos"),
        "pack": tuple(
            (f"Pack of {n}", f"{n} pack", f"{n}pcs", f"{n} pieces", f"set of {n}")
            for n in (1, 2, 3, 4, 6, 8, 10, 12, 24, 50)
        ),
        "pieces": _measured((24, 48, 60, 100, 200, 300, 500, 1000, 1500, 2000), "Pieces", "pcs", "piece"),
        "persons": tuple((f"{n} Person", f"{n} man", f"{n} people", f"for {n}") for n in (1, 2, 3, 4, 5, 6, 8)),
        "wheel": _measured((12, 14, 16, 20, 24, 26, 28, 29), "Inch Wheel", "inch", "in"),
    }


def _split(text: str) -> tuple[Value, ...]:
    return tuple(tuple(value.split("|")) for value in text.split(", "))


def _measured(numbers: Sequence[int], unit: str, *others: str) -> tuple[Value, ...]:
    """Numbers with a unit: "500 g", "500g", "500 grams"."""
    return tuple((f"{n} {unit}", f"{n}{unit}", *[f"{n} {other}" for other in others]) for n in numbers)


def _litres(thousandths: Sequence[int]) -> tuple[Value, ...]:
    """Thousandths of a litre: "500 ml", "500ml", "0.5 l"."""
    return tuple((f"{n} ml", f"{n}ml", f"{n / 1000:g} l", f"{n / 1000:g} litre") for n in thousandths)
