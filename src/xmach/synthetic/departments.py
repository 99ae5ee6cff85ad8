"""The departments of the shop and the types of product in each, with the other names that users give them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

_TYPES = """
Shoes
running shoes|runners|jogging shoes|trainers: colour, shoe size; audience, leather
hiking boots|walking boots|trekking shoes|mountain boots: shoe size, colour; audience, leather
sneakers|gym shoes|casual shoes|tennis shoes: colour, shoe size; audience, leather
sandals|summer shoes|flip flops|slides: colour, shoe size; audience, leather
slippers|house shoes|indoor shoes: colour, shoe size; audience, fabric
rain boots|wellies|rubber boots|gumboots: colour, shoe size; audience
ankle boots|chelsea boots|booties: colour, shoe size; audience, leather
football boots|soccer cleats|soccer shoes: shoe size, colour; audience
loafers|slip ons|moccasins: colour, shoe size; leather, audience
Clothing
t-shirt|tee|tshirt|short sleeve shirt: colour, clothing size; audience, fabric
hoodie|hooded sweatshirt|hooded sweater: colour, clothing size; audience, fabric
jeans|denim pants|denim trousers: clothing size, colour; audience, fit
rain jacket|raincoat|waterproof jacket|shell jacket: colour, clothing size; audience, season
down jacket|puffer jacket|padded jacket: colour, clothing size; audience, season
leggings|yoga pants|tights: colour, clothing size; audience, fabric
summer dress|sundress|midi dress: pattern, clothing size; fabric, fit
sports bra|running bra|crop top: colour, clothing size; fabric
dress shirt|business shirt|formal shirt|button up: colour, clothing size; fit, pattern
wool sweater|jumper|pullover|knitwear: colour, clothing size; audience, fabric
swim shorts|swimming trunks|board shorts: colour, clothing size; pattern
hiking socks|trekking socks|walking socks: colour, shoe size; fabric, pack
winter hat|beanie|knit cap|woolly hat: colour, audience; fabric
pyjamas|pajama set|sleepwear|nightwear: pattern, clothing size; audience, fabric
Kitchen
frying pan|skillet|fry pan: diameter, surface; metal
saucepan|sauce pot|cooking pot: capacity, surface; metal
chef knife|kitchen knife|cooks knife: length, wood; metal
water bottle|drinking bottle|sports bottle|flask: colour, volume; metal
travel mug|thermos cup|coffee tumbler|insulated mug: colour, volume; metal
coffee maker|coffee machine|filter coffee machine|drip brewer: colour, capacity; power
electric kettle|water kettle|tea kettle: colour, capacity; metal, power
blender|smoothie maker|mixer: colour, power; capacity
air fryer|hot air fryer|oil free fryer: colour, capacity; power
cutting board|chopping board|carving board: length, wood; pack
food containers|storage boxes|meal prep boxes|lunch boxes: pack, volume; colour
baking tray|oven tray|cookie sheet|sheet pan: length, surface; metal, pack
Electronics
wireless earbuds|earphones|in ear headphones|ear buds: colour, connection; device
headphones|over ear headphones|headset|cans: colour, connection; device
phone case|mobile cover|phone cover|protective case: colour, pattern; leather
usb cable|charging cable|charger cord|data cable: cable length, colour; connection
power bank|portable charger|battery pack|external battery: battery, colour; connection
wall charger|power adapter|charging plug|fast charger: power, colour; connection, device
laptop|notebook computer|ultrabook|portable pc: storage, colour; screen, memory
tablet|tablet pc|tab: storage, colour; screen, connection
computer monitor|pc screen|display|desktop screen: screen, resolution; connection
memory card|sd card|micro sd|flash card: storage, pack; device
wireless mouse|computer mouse|pc mouse|cordless mouse: colour, connection; device
mechanical keyboard|gaming keyboard|pc keyboard: colour, connection; device
bluetooth speaker|portable speaker|music box|sound box: colour, power; battery
smart watch|fitness watch|fitness tracker|activity tracker: colour, storage; audience, connection
security camera|surveillance camera|ip camera|cctv: pack, colour; resolution, connection
Home
bath towel|shower towel|towels: colour, pack; fabric
duvet cover|bed linen|bedding set|quilt cover: pattern, bed size; fabric, season
bed pillow|sleeping pillow|head pillow|cushion: firmness, pack; fabric
mattress|foam mattress|bed mattress: bed size, firmness; season
blackout curtains|drapes|window curtains|thermal curtains: colour, length; room, fabric
area rug|carpet|floor rug: pattern, length; room, fabric
table lamp|desk lamp|bedside lamp|reading light: colour, power; room, metal
bookcase|bookshelf|shelving unit|book rack: wood, length; room
coffee table|side table|sofa table|lounge table: wood, length; metal
office chair|desk chair|swivel chair|computer chair: colour, leather; load
scented candle|aroma candle|fragrance candle: scent, pack; weight
storage basket|laundry basket|hamper|organiser basket: colour, capacity; room
Beauty
face cream|moisturiser|moisturizer|day cream: bottle, skin; care, scent
shampoo|hair wash|hair shampoo: bottle, scent; hair
body lotion|body cream|body milk: bottle, scent; skin
shower gel|body wash|bath gel: scent, bottle; skin, pack
perfume|eau de parfum|fragrance|cologne: bottle, scent; audience
sunscreen|sun cream|sun lotion|sun protection: bottle, skin; audience
lipstick|lip colour|lip stain: colour, pack; care
beard oil|beard care|beard balm: bottle, scent; care
Grocery
coffee beans|whole bean coffee|roasted coffee: weight, roast; diet, flavour
protein powder|whey protein|protein shake|whey: flavour, weight; diet
herbal tea|tea bags|infusion tea: flavour, pack; diet
granola|muesli|crunchy cereal|breakfast cereal: flavour, weight; diet
protein bars|energy bars|snack bars: flavour, pack; diet
olive oil|extra virgin olive oil|cooking oil: volume, diet; pack
dark chocolate|chocolate bar|cocoa bar: flavour, weight; diet, pack
dog food|dry dog food|kibble|dog kibble: load, flavour; diet
cat litter|kitty litter|clumping litter: load, scent; pack
Outdoor
camping tent|dome tent|trekking tent|backpacking tent: persons, colour; season
sleeping bag|camping bag|mummy bag: colour, length; season, audience
hiking backpack|rucksack|trekking backpack|daypack: colour, capacity; audience, season
yoga mat|exercise mat|gym mat|fitness mat: colour, length; pattern
dumbbells|hand weights|free weights|gym weights: load, colour; metal, pack
kids bicycle|childrens bike|kids bike|balance bike: colour, wheel; child age
headlamp|head torch|headlight|forehead light: colour, power; battery
cordless drill|power drill|drill driver|screwdriver drill: voltage, pack; battery
garden hose|water hose|hosepipe: length, colour; season
vegetable seeds|garden seeds|plant seeds|seed packets: plant, pack; season
Toys and paper
building blocks|construction set|brick set|bricks: theme, pieces; child age
jigsaw puzzle|puzzle|kids puzzle: theme, pieces; child age
plush toy|stuffed animal|soft toy|cuddly toy: theme, colour; length
wooden train|toy railway|train set: pieces, theme; child age, wood
notebook|journal|writing book|diary: colour, paper; ruling, pack
ballpoint pens|biro|ink pens|writing pens: colour, pack; metal
pet bed|animal bed|pet cushion|sleeping basket: colour, length; animal, fabric
"""


class ProductType(NamedTuple):
    """A type of product: its name in titles, users' names for it, and its attributes."""

    department: str
    names: tuple[str, ...]  # the title's name first
    variant_attributes: tuple[str, ...]  # two, in which the siblings of a line differ
    line_attributes: tuple[str, ...]  # one or two, which siblings share


@cache
def product_types() -> tuple[ProductType, ...]:
    """Return all types of products, by department."""
    types: list[ProductType] = []
    department = ""
    for line in _TYPES.strip().splitlines():
        if ":" not in line:
            department = line
            continue
        names, attributes = line.split(":")
        variant, fixed = ([name.strip() for name in part.split(",")] for part in attributes.split(";"))
        types.append(ProductType(department, tuple(names.split("|")), tuple(variant), tuple(fixed)))
    return tuple(types)
