"""Words for names that nobody has: people are called after trees, stones and birds, companies after things."""

from typing import Final

# ruff: noqa: SIM905 - words are read more easily than quotes and commas

TREES: Final = (
    "Acacia Alder Ash Aspen Bamboo Beech Birch Cedar Chestnut Cypress Ebony Elder Elm Ficus Fir Ginkgo Hawthorn Hazel "
    "Hickory Holly Juniper Larch Laurel Linden Mahogany Maple Myrtle Oak Olive Palm Pine Poplar Redwood Rowan Spruce "
    "Sycamore Teak Walnut Willow Yew"
).split()
STONES: Final = (
    "Agate Alabaster Amber Amethyst Azurite Basalt Beryl Chalk Citrine Diorite Dolomite Feldspar Flint Fluorite Gabbro "
    "Galena Garnet Gneiss Granite Gypsum Halite Hematite Jade Jasper Lapis Limestone Malachite Marble Mica Obsidian "
    "Onyx Opal Perlite Pumice Pyrite Quartz Sandstone Slate Topaz Zircon"
).split()
BIRDS: Final = (
    "Avocet Bittern Bunting Buzzard Chough Coot Cormorant Crane Curlew Dipper Dunlin Egret Falcon Finch Gannet Godwit "
    "Goshawk Grebe Grouse Gull Heron Hobby Ibis Jackdaw Kestrel Kite Lapwing Linnet Merlin Nuthatch Osprey Ouzel Pipit "
    "Plover Puffin Redstart Siskin Tern Wagtail Whimbrel"
).split()
MATERIALS: Final = (
    "Brass Ceramic Copper Cotton Glass Iron Leather Linen Nickel Paper Silver Steel Tin Wooden Woollen".split()
)
THINGS: Final = (
    "Anchor Basket Bellows Bolt Bucket Candle Clamp Clock Compass Drum Funnel Gear Hammer Hinge Kettle Lamp Lantern "
    "Lever Mirror Needle Pulley Ratchet Saw Spindle Spring Valve Wheel Whistle"
).split()
CATEGORIES: Final = "Fittings Household Instruments Lighting Tools Workshop".split()
STREETS: Final = "Canal Dock Foundry Harbour Kiln Market Mill Quarry Station Tannery".split()
REGIONS: Final = {
    "EU": ("Europe", {"DE": "Germany", "FR": "France", "IT": "Italy", "PL": "Poland"}),
    "AM": ("Americas", {"BR": "Brazil", "CA": "Canada", "MX": "Mexico", "US": "United States of America"}),
    "AS": ("Asia", {"IN": "India", "JP": "Japan", "KR": "South Korea", "SG": "Singapore"}),
    "ME": ("Middle East and Africa", {"EG": "Egypt", "IL": "Israel", "KE": "Kenya", "ZA": "South Africa"}),
}
JOBS: Final = {
    "AD_PRES": ("President", 20000, 40000),
    "FI_ACCOUNT": ("Accountant", 4200, 9000),
    "HR_REP": ("Human Resources Representative", 4000, 9000),
    "IT_PROG": ("Programmer", 4000, 10000),
    "MK_REP": ("Marketing Representative", 4000, 9000),
    "PU_CLERK": ("Purchasing Clerk", 2500, 5500),
    "SA_MAN": ("Sales Manager", 10000, 20000),
    "SA_REP": ("Sales Representative", 6000, 12000),
    "SH_CLERK": ("Shipping Clerk", 2500, 5500),
    "ST_CLERK": ("Stock Clerk", 2000, 5000),
    "ST_MAN": ("Stock Manager", 5500, 8500),
}
