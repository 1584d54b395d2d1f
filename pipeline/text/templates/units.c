/* The units of {{convert}} with what their names, symbols and sizes are. Sizes: the units' legal definitions (SI; the
 * international yard and pound). */
#include "pipeline/text/templates/units.h"

/* Sorted bytewise by code. */
// clang-format off
static const struct unit units[] = {
    {"/acre", "/acre", "per acre", "per acre", "/ha", 'D', 2.471053814671653e-4, 0},
    {"/ha", "/ha", "per hectare", "per hectare", "/acre", 'D', 1e-4, 0},
    {"/km2", "/km2", "per square kilometre", "per square kilometre", "/sqmi", 'D', 1e-6, 0},
    {"/sqmi", "/sq mi", "per square mile", "per square mile", "/km2", 'D', 3.861021585424458e-7, 0},
    {"AU", "AU", "astronomical unit", "astronomical units", "km mi", 'L', 149597870700.0, 0},
    {"BTU", "BTU", "British thermal unit", "British thermal units", "kJ", 'E', 1055.05585262, 0},
    {"Btu", "Btu", "British thermal unit", "British thermal units", "kJ", 'E', 1055.05585262, 0},
    {"C", "°C", "°C", "°C", "F", 'T', 1.0, -273.15},
    {"C-change", "°C", "°C", "°C", "F-change", 'H', 1.0, 0},
    {"CUmi", "cu mi", "cubic mile", "cubic miles", "km3", 'V', 4168181825.440579584, 0},
    {"F", "°F", "°F", "°F", "C", 'T', 0.555555555555555556, -459.67},
    {"F-change", "°F", "°F", "°F", "C-change", 'H', 0.555555555555555556, 0},
    {"GPa", "GPa", "gigapascal", "gigapascals", "psi", 'R', 1e9, 0},
    {"GW", "GW", "gigawatt", "gigawatts", "hp", 'P', 1e9, 0},
    {"GWh", "GWh", "gigawatt-hour", "gigawatt-hours", "MJ", 'E', 3.6e12, 0},
    {"Gcuft", "Gcuft", "billion cubic feet", "billion cubic feet", "m3", 'V', 28316846.592, 0},
    {"Gm", "Gm", "gigametre", "gigametres", "mi", 'L', 1e9, 0},
    {"Goilbbl", "Gbbl", "billion barrels", "billion barrels", "m3", 'V', 158987294.928, 0},
    {"J", "J", "joule", "joules", "cal", 'E', 1.0, 0},
    {"K", "K", "K", "K", "C F", 'T', 1.0, 0},
    {"L", "L", "litre", "litres", "impgal USgal", 'V', 0.001, 0},
    {"L/100km", "L/100 km", "litre per 100 kilometres", "litres per 100 kilometres", "mpgus mpgimp", 'I', 1.0, 0},
    {"L/min", "L/min", "litre per minute", "litres per minute", "cuft/min", 'G', 1.66666666666667e-5, 0},
    {"L/s", "L/s", "litre per second", "litres per second", "cuft/s", 'G', 0.001, 0},
    {"LT", "long ton", "long ton", "long tons", "t ST", 'M', 1016.0469088, 0},
    {"MJ", "MJ", "megajoule", "megajoules", "kWh", 'E', 1e6, 0},
    {"MPa", "MPa", "megapascal", "megapascals", "psi", 'R', 1e6, 0},
    {"MT", "t", "metric ton", "metric tons", "LT ST", 'M', 1000.0, 0},
    {"MW", "MW", "megawatt", "megawatts", "hp", 'P', 1e6, 0},
    {"MWh", "MWh", "megawatt-hour", "megawatt-hours", "MJ", 'E', 3.6e9, 0},
    {"Mcuft", "MMcuft", "million cubic feet", "million cubic feet", "m3", 'V', 28316.846592, 0},
    {"Mly", "Mly", "megalight-year", "megalight-years", "Mpc", 'L', 9.4607304725808e21, 0},
    {"Mm", "Mm", "megametre", "megametres", "mi", 'L', 1e6, 0},
    {"Moilbbl", "MMbbl", "million barrels", "million barrels", "m3", 'V', 158987.294928, 0},
    {"Moilbbl/d", "MMbbl/d", "million barrels per day", "million barrels per day", "m3/d", 'G', 1.8401307283333, 0},
    {"Mpc", "Mpc", "megaparsec", "megaparsecs", "Mly", 'L', 3.08567758149137e22, 0},
    {"Mt", "Mt", "megatonne", "megatonnes", "LT ST", 'M', 1e9, 0},
    {"N", "N", "newton", "newtons", "lbf", 'F', 1.0, 0},
    {"N.m", "N⋅m", "newton-metre", "newton-metres", "lbft", 'E', 1.0, 0},
    {"NM", "nmi", "nautical mile", "nautical miles", "km mi", 'L', 1852.0, 0},
    {"Nm", "N⋅m", "newton-metre", "newton-metres", "lbft", 'E', 1.0, 0},
    {"PD/km2", "/km2", "per square kilometre", "per square kilometre", "/sqmi", 'D', 1e-6, 0},
    {"PD/sqmi", "/sq mi", "per square mile", "per square mile", "/km2", 'D', 3.861021585424458e-7, 0},
    {"PS", "PS", "metric horsepower", "metric horsepower", "kW", 'P', 735.49875, 0},
    {"Pa", "Pa", "pascal", "pascals", "psi", 'R', 1.0, 0},
    {"ST", "short ton", "short ton", "short tons", "LT t", 'M', 907.18474, 0},
    {"TWh", "TWh", "terawatt-hour", "terawatt-hours", "MJ", 'E', 3.6e15, 0},
    {"Tcuft", "Tcuft", "trillion cubic feet", "trillion cubic feet", "m3", 'V', 28316846592.0, 0},
    {"Torr", "Torr", "torr", "torrs", "kPa", 'R', 133.322368421053, 0},
    {"U.S.gal", "US gal", "US gallon", "US gallons", "L impgal", 'V', 0.003785411784, 0},
    {"USgal", "US gal", "US gallon", "US gallons", "L impgal", 'V', 0.003785411784, 0},
    {"USoz", "US fl oz", "US fluid ounce", "US fluid ounces", "ml", 'V', 2.95735295625e-5, 0},
    {"USpt", "US pt", "US pint", "US pints", "L", 'V', 4.73176473e-4, 0},
    {"USqt", "US qt", "US quart", "US quarts", "L", 'V', 9.46352946e-4, 0},
    {"W", "W", "watt", "watts", "hp", 'P', 1.0, 0},
    {"Wh", "W⋅h", "watt-hour", "watt-hours", "kJ", 'E', 3600.0, 0},
    {"acre", "acre", "acre", "acres", "ha", 'A', 4046.8564224, 0},
    {"acre.ft", "acre⋅ft", "acre-foot", "acre-feet", "m3", 'V', 1233.48183754752, 0},
    {"acres", "acre", "acre", "acres", "ha", 'A', 4046.8564224, 0},
    {"atm", "atm", "standard atmosphere", "standard atmospheres", "kPa", 'R', 101325.0, 0},
    {"bar", "bar", "bar", "bars", "kPa", 'R', 1e5, 0},
    {"bbl", "bbl", "barrel", "barrels", "m3", 'V', 0.158987294928, 0},
    {"bbl/d", "bbl/d", "barrel per day", "barrels per day", "m3/d", 'G', 1.8401307283333e-6, 0},
    {"bhp", "bhp", "brake horsepower", "brake horsepower", "kW", 'P', 745.69987158227, 0},
    {"cL", "cL", "centilitre", "centilitres", "impoz USoz", 'V', 1e-5, 0},
    {"cal", "cal", "calorie", "calories", "J", 'E', 4.184, 0},
    {"carat", "carat", "carat", "carats", "g", 'M', 0.0002, 0},
    {"cc", "cc", "cubic centimetre", "cubic centimetres", "cuin", 'V', 1e-6, 0},
    {"chain", "chain", "chain", "chains", "ft m", 'L', 20.1168, 0},
    {"cl", "cl", "centilitre", "centilitres", "impoz USoz", 'V', 1e-5, 0},
    {"cm", "cm", "centimetre", "centimetres", "in", 'L', 0.01, 0},
    {"cm2", "cm2", "square centimetre", "square centimetres", "sqin", 'A', 1e-4, 0},
    {"cm3", "cm3", "cubic centimetre", "cubic centimetres", "cuin", 'V', 1e-6, 0},
    {"cu ft", "cu ft", "cubic foot", "cubic feet", "m3", 'V', 0.028316846592, 0},
    {"cufoot", "cu ft", "cubic foot", "cubic feet", "m3", 'V', 0.028316846592, 0},
    {"cuft", "cu ft", "cubic foot", "cubic feet", "m3", 'V', 0.028316846592, 0},
    {"cuft/min", "cu ft/min", "cubic foot per minute", "cubic feet per minute", "m3/min", 'G', 4.719474432e-4, 0},
    {"cuft/s", "cu ft/s", "cubic foot per second", "cubic feet per second", "m3/s", 'G', 0.028316846592, 0},
    {"cuin", "cu in", "cubic inch", "cubic inches", "cm3", 'V', 1.6387064e-5, 0},
    {"cumi", "cu mi", "cubic mile", "cubic miles", "km3", 'V', 4168181825.440579584, 0},
    {"cuyd", "cu yd", "cubic yard", "cubic yards", "m3", 'V', 0.764554857984, 0},
    {"dL", "dL", "decilitre", "decilitres", "impoz USoz", 'V', 1e-4, 0},
    {"degC", "°C", "°C", "°C", "F", 'T', 1.0, -273.15},
    {"degF", "°F", "°F", "°F", "C", 'T', 0.555555555555555556, -459.67},
    {"dm", "dm", "decimetre", "decimetres", "in", 'L', 0.1, 0},
    {"fathom", "fathom", "fathom", "fathoms", "ft m", 'L', 1.8288, 0},
    {"fathoms", "fathom", "fathom", "fathoms", "ft m", 'L', 1.8288, 0},
    {"feet", "ft", "foot", "feet", "m", 'L', 0.3048, 0},
    {"foot", "ft", "foot", "feet", "m", 'L', 0.3048, 0},
    {"foot per second", "ft/s", "foot per second", "feet per second", "m/s", 'S', 0.3048, 0},
    {"ft", "ft", "foot", "feet", "m", 'L', 0.3048, 0},
    {"ft.lb", "ft⋅lb", "foot-pound", "foot-pounds", "J", 'E', 1.3558179483314, 0},
    {"ft.lbf", "ft⋅lbf", "foot-pound force", "foot-pounds force", "J", 'E', 1.3558179483314, 0},
    {"ft/min", "ft/min", "foot per minute", "feet per minute", "m/min", 'S', 0.00508, 0},
    {"ft/s", "ft/s", "foot per second", "feet per second", "m/s", 'S', 0.3048, 0},
    {"ft/s2", "ft/s2", "foot per second squared", "feet per second squared", "m/s2", 'C', 0.3048, 0},
    {"ft2", "sq ft", "square foot", "square feet", "m2", 'A', 0.09290304, 0},
    {"ft3", "cu ft", "cubic foot", "cubic feet", "m3", 'V', 0.028316846592, 0},
    {"ftlbf", "lb⋅ft", "pound-foot", "pound-feet", "Nm", 'E', 1.3558179483314, 0},
    {"furlong", "furlong", "furlong", "furlongs", "ft m", 'L', 201.168, 0},
    {"g", "g", "gram", "grams", "oz", 'M', 0.001, 0},
    {"g/cm3", "g/cm3", "gram per cubic centimetre", "grams per cubic centimetre", "lb/cuin", 'K', 1000.0, 0},
    {"gal", "US gal", "US gallon", "US gallons", "L impgal", 'V', 0.003785411784, 0},
    {"gr", "gr", "grain", "grains", "g", 'M', 6.479891e-5, 0},
    {"hL", "hL", "hectolitre", "hectolitres", "impgal USgal", 'V', 0.1, 0},
    {"hPa", "hPa", "hectopascal", "hectopascals", "inHg", 'R', 100.0, 0},
    {"ha", "ha", "hectare", "hectares", "acre", 'A', 1e4, 0},
    {"hectare", "ha", "hectare", "hectares", "acre", 'A', 1e4, 0},
    {"hectares", "ha", "hectare", "hectares", "acre", 'A', 1e4, 0},
    {"hl", "hl", "hectolitre", "hectolitres", "impgal USgal", 'V', 0.1, 0},
    {"hp", "hp", "horsepower", "horsepower", "kW", 'P', 745.69987158227, 0},
    {"impgal", "imp gal", "imperial gallon", "imperial gallons", "L USgal", 'V', 0.00454609, 0},
    {"impoz", "imp fl oz", "imperial fluid ounce", "imperial fluid ounces", "ml", 'V', 2.84130625e-5, 0},
    {"imppt", "imp pt", "imperial pint", "imperial pints", "L", 'V', 5.6826125e-4, 0},
    {"impqt", "imp qt", "imperial quart", "imperial quarts", "L", 'V', 1.1365225e-3, 0},
    {"in", "in", "inch", "inches", "mm", 'L', 0.0254, 0},
    {"inHg", "inHg", "inch of mercury", "inches of mercury", "kPa", 'R', 3386.388640341, 0},
    {"inch", "in", "inch", "inches", "mm", 'L', 0.0254, 0},
    {"inches", "in", "inch", "inches", "mm", 'L', 0.0254, 0},
    {"kJ", "kJ", "kilojoule", "kilojoules", "kcal", 'E', 1000.0, 0},
    {"kN", "kN", "kilonewton", "kilonewtons", "lbf", 'F', 1000.0, 0},
    {"kN.m", "kN⋅m", "kilonewton-metre", "kilonewton-metres", "lbft", 'E', 1000.0, 0},
    {"kPa", "kPa", "kilopascal", "kilopascals", "psi", 'R', 1000.0, 0},
    {"kW", "kW", "kilowatt", "kilowatts", "hp", 'P', 1000.0, 0},
    {"kWh", "kWh", "kilowatt-hour", "kilowatt-hours", "MJ", 'E', 3.6e6, 0},
    {"kcal", "kcal", "kilocalorie", "kilocalories", "kJ", 'E', 4184.0, 0},
    {"kg", "kg", "kilogram", "kilograms", "lb", 'M', 1.0, 0},
    {"kg/m3", "kg/m3", "kilogram per cubic metre", "kilograms per cubic metre", "lb/cuft", 'K', 1.0, 0},
    {"kgf", "kgf", "kilogram-force", "kilograms-force", "N", 'F', 9.80665, 0},
    {"kilogram", "kg", "kilogram", "kilograms", "lb", 'M', 1.0, 0},
    {"kilometer", "km", "kilometre", "kilometres", "mi", 'L', 1000.0, 0},
    {"kilometers", "km", "kilometre", "kilometres", "mi", 'L', 1000.0, 0},
    {"kilometre", "km", "kilometre", "kilometres", "mi", 'L', 1000.0, 0},
    {"kilometres", "km", "kilometre", "kilometres", "mi", 'L', 1000.0, 0},
    {"kly", "kly", "kilolight-year", "kilolight-years", "kpc", 'L', 9.4607304725808e18, 0},
    {"km", "km", "kilometre", "kilometres", "mi", 'L', 1000.0, 0},
    {"km/h", "km/h", "kilometre per hour", "kilometres per hour", "mph", 'S', 0.277777777777777777, 0},
    {"km/hr", "km/h", "kilometre per hour", "kilometres per hour", "mph", 'S', 0.277777777777777777, 0},
    {"km/s", "km/s", "kilometre per second", "kilometres per second", "mi/s", 'S', 1000.0, 0},
    {"km2", "km2", "square kilometre", "square kilometres", "sqmi", 'A', 1e6, 0},
    {"km3", "km3", "cubic kilometre", "cubic kilometres", "cumi", 'V', 1e9, 0},
    {"kmh", "km/h", "kilometre per hour", "kilometres per hour", "mph", 'S', 0.277777777777777777, 0},
    {"kmph", "km/h", "kilometre per hour", "kilometres per hour", "mph", 'S', 0.277777777777777777, 0},
    {"kn", "kn", "knot", "knots", "km/h mph", 'S', 0.514444444444444444, 0},
    {"knot", "kn", "knot", "knots", "km/h mph", 'S', 0.514444444444444444, 0},
    {"knots", "kn", "knot", "knots", "km/h mph", 'S', 0.514444444444444444, 0},
    {"koilbbl", "kbbl", "thousand barrels", "thousand barrels", "m3", 'V', 158.987294928, 0},
    {"koilbbl/d", "kbbl/d", "thousand barrels per day", "thousand barrels per day", "m3/d", 'G', 1.8401307283333e-3, 0},
    {"kpc", "kpc", "kiloparsec", "kiloparsecs", "kly", 'L', 3.08567758149137e19, 0},
    {"kph", "km/h", "kilometre per hour", "kilometres per hour", "mph", 'S', 0.277777777777777777, 0},
    {"ksi", "ksi", "kilopound per square inch", "kilopounds per square inch", "MPa", 'R', 6894757.29316836, 0},
    {"kt", "kt", "kilotonne", "kilotonnes", "LT ST", 'M', 1e6, 0},
    {"l", "l", "litre", "litres", "impgal USgal", 'V', 0.001, 0},
    {"lb", "lb", "pound", "pounds", "kg", 'M', 0.45359237, 0},
    {"lb-ft", "lb⋅ft", "pound-foot", "pound-feet", "Nm", 'E', 1.3558179483314, 0},
    {"lb.ft", "lb⋅ft", "pound-foot", "pound-feet", "Nm", 'E', 1.3558179483314, 0},
    {"lb/cuft", "lb/cu ft", "pound per cubic foot", "pounds per cubic foot", "kg/m3", 'K', 16.0184633739601, 0},
    {"lb/cuin", "lb/cu in", "pound per cubic inch", "pounds per cubic inch", "g/cm3", 'K', 27679.9047102031, 0},
    {"lbf", "lbf", "pound-force", "pounds-force", "N", 'F', 4.4482216152605, 0},
    {"lbf.ft", "lb⋅ft", "pound-foot", "pound-feet", "Nm", 'E', 1.3558179483314, 0},
    {"lbfft", "lb⋅ft", "pound-foot", "pound-feet", "Nm", 'E', 1.3558179483314, 0},
    {"lbft", "lb⋅ft", "pound-foot", "pound-feet", "Nm", 'E', 1.3558179483314, 0},
    {"lbs", "lb", "pound", "pounds", "kg", 'M', 0.45359237, 0},
    {"long ton", "long ton", "long ton", "long tons", "t ST", 'M', 1016.0469088, 0},
    {"ly", "ly", "light-year", "light-years", "pc", 'L', 9460730472580800.0, 0},
    {"m", "m", "metre", "metres", "ftin", 'L', 1.0, 0},
    {"m/min", "m/min", "metre per minute", "metres per minute", "ft/min", 'S', 1.66666666666667e-2, 0},
    {"m/s", "m/s", "metre per second", "metres per second", "ft/s", 'S', 1.0, 0},
    {"m/s2", "m/s2", "metre per second squared", "metres per second squared", "ft/s2", 'C', 1.0, 0},
    {"m2", "m2", "square metre", "square metres", "sqft", 'A', 1.0, 0},
    {"m3", "m3", "cubic metre", "cubic metres", "cuft", 'V', 1.0, 0},
    {"m3/d", "m3/d", "cubic metre per day", "cubic metres per day", "oilbbl/d", 'G', 1.15740740740741e-5, 0},
    {"m3/h", "m3/h", "cubic metre per hour", "cubic metres per hour", "cuft/min", 'G', 2.77777777777778e-4, 0},
    {"m3/min", "m3/min", "cubic metre per minute", "cubic metres per minute", "cuft/min", 'G', 1.66666666666667e-2, 0},
    {"m3/s", "m3/s", "cubic metre per second", "cubic metres per second", "cuft/s", 'G', 1.0, 0},
    {"mL", "mL", "millilitre", "millilitres", "impoz USoz", 'V', 1e-6, 0},
    {"mbar", "mbar", "millibar", "millibars", "inHg", 'R', 100.0, 0},
    {"meter", "m", "metre", "metres", "ftin", 'L', 1.0, 0},
    {"meters", "m", "metre", "metres", "ftin", 'L', 1.0, 0},
    {"metre", "m", "metre", "metres", "ftin", 'L', 1.0, 0},
    {"metres", "m", "metre", "metres", "ftin", 'L', 1.0, 0},
    {"mg", "mg", "milligram", "milligrams", "gr", 'M', 1e-6, 0},
    {"mi", "mi", "mile", "miles", "km", 'L', 1609.344, 0},
    {"mi/h", "mph", "mile per hour", "miles per hour", "km/h", 'S', 0.44704, 0},
    {"mi/s", "mi/s", "mile per second", "miles per second", "km/s", 'S', 1609.344, 0},
    {"mi2", "sq mi", "square mile", "square miles", "km2", 'A', 2589988.110336, 0},
    {"mile", "mi", "mile", "miles", "km", 'L', 1609.344, 0},
    {"miles", "mi", "mile", "miles", "km", 'L', 1609.344, 0},
    {"miles per hour", "mph", "mile per hour", "miles per hour", "km/h", 'S', 0.44704, 0},
    {"ml", "ml", "millilitre", "millilitres", "impoz USoz", 'V', 1e-6, 0},
    {"mm", "mm", "millimetre", "millimetres", "in", 'L', 0.001, 0},
    {"mm2", "mm2", "square millimetre", "square millimetres", "sqin", 'A', 1e-6, 0},
    {"mmHg", "mmHg", "millimetre of mercury", "millimetres of mercury", "kPa", 'R', 133.322387415, 0},
    {"mpgUS", "mpg‑US", "mile per US gallon", "miles per US gallon", "L/100km mpgimp", 'I', -235.214583333333, 0},
    {"mpgimp", "mpg‑imp", "mile per imperial gallon", "miles per imperial gallon", "L/100km mpgus", 'I', -282.480936331822, 0},
    {"mpgus", "mpg‑US", "mile per US gallon", "miles per US gallon", "L/100km mpgimp", 'I', -235.214583333333, 0},
    {"mph", "mph", "mile per hour", "miles per hour", "km/h", 'S', 0.44704, 0},
    {"nm", "nm", "nanometre", "nanometres", "in", 'L', 1e-9, 0},
    {"nmi", "nmi", "nautical mile", "nautical miles", "km mi", 'L', 1852.0, 0},
    {"oilbbl", "bbl", "barrel", "barrels", "m3", 'V', 0.158987294928, 0},
    {"oilbbl/d", "bbl/d", "barrel per day", "barrels per day", "m3/d", 'G', 1.8401307283333e-6, 0},
    {"oz", "oz", "ounce", "ounces", "g", 'M', 0.028349523125, 0},
    {"ozt", "ozt", "troy ounce", "troy ounces", "oz g", 'M', 0.0311034768, 0},
    {"pc", "pc", "parsec", "parsecs", "ly", 'L', 3.08567758149137e16, 0},
    {"per km2", "/km2", "per square kilometre", "per square kilometre", "/sqmi", 'D', 1e-6, 0},
    {"pound", "lb", "pound", "pounds", "kg", 'M', 0.45359237, 0},
    {"pounds", "lb", "pound", "pounds", "kg", 'M', 0.45359237, 0},
    {"psi", "psi", "pound per square inch", "pounds per square inch", "kPa", 'R', 6894.75729316836, 0},
    {"rod", "rod", "rod", "rods", "ft m", 'L', 5.0292, 0},
    {"short ton", "short ton", "short ton", "short tons", "LT t", 'M', 907.18474, 0},
    {"shp", "shp", "shaft horsepower", "shaft horsepower", "kW", 'P', 745.69987158227, 0},
    {"sq ft", "sq ft", "square foot", "square feet", "m2", 'A', 0.09290304, 0},
    {"sq mi", "sq mi", "square mile", "square miles", "km2", 'A', 2589988.110336, 0},
    {"sqft", "sq ft", "square foot", "square feet", "m2", 'A', 0.09290304, 0},
    {"sqin", "sq in", "square inch", "square inches", "cm2", 'A', 0.00064516, 0},
    {"sqkm", "km2", "square kilometre", "square kilometres", "sqmi", 'A', 1e6, 0},
    {"sqm", "m2", "square metre", "square metres", "sqft", 'A', 1.0, 0},
    {"sqmi", "sq mi", "square mile", "square miles", "km2", 'A', 2589988.110336, 0},
    {"sqnmi", "sq nmi", "square nautical mile", "square nautical miles", "km2 sqmi", 'A', 3429904.0, 0},
    {"square feet", "sq ft", "square foot", "square feet", "m2", 'A', 0.09290304, 0},
    {"square mile", "sq mi", "square mile", "square miles", "km2", 'A', 2589988.110336, 0},
    {"sqyd", "sq yd", "square yard", "square yards", "m2", 'A', 0.83612736, 0},
    {"st", "st", "stone", "stone", "lb kg", 'M', 6.35029318, 0},
    {"t", "t", "tonne", "tonnes", "LT ST", 'M', 1000.0, 0},
    {"ton", "short ton", "short ton", "short tons", "LT t", 'M', 907.18474, 0},
    {"tonne", "t", "tonne", "tonnes", "LT ST", 'M', 1000.0, 0},
    {"tonnes", "t", "tonne", "tonnes", "LT ST", 'M', 1000.0, 0},
    {"ug", "μg", "microgram", "micrograms", "gr", 'M', 1e-9, 0},
    {"um", "μm", "micrometre", "micrometres", "in", 'L', 1e-6, 0},
    {"usgal", "US gal", "US gallon", "US gallons", "L impgal", 'V', 0.003785411784, 0},
    {"yard", "yd", "yard", "yards", "m", 'L', 0.9144, 0},
    {"yards", "yd", "yard", "yards", "m", 'L', 0.9144, 0},
    {"yd", "yd", "yard", "yards", "m", 'L', 0.9144, 0},
    {"°C", "°C", "°C", "°C", "F", 'T', 1.0, -273.15},
    {"°F", "°F", "°F", "°F", "C", 'T', 0.555555555555555556, -459.67},
};
// clang-format on

const struct unit *unit_find(struct str code)
{
    size_t low = 0, high = sizeof units / sizeof *units;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_compare(str_of(units[middle].code), code);
        if (order == 0)
            return &units[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* What Cyrillic wikis write where the table has no row: for some languages Unicode's data has Latin symbols. */
static const char *const cyrillic_units[][2] = {
    {"MW", "МВт"}, {"W", "Вт"},    {"cm", "см"}, {"g", "г"},   {"ha", "га"}, {"kW", "кВт"}, {"kg", "кг"},
    {"km", "км"},  {"km2", "км2"}, {"m", "м"},   {"m2", "м2"}, {"m3", "м3"}, {"mm", "мм"},  {"t", "т"},
};
#define CYRILLIC_UNITS (sizeof cyrillic_units / sizeof *cyrillic_units)

static bool is_cyrillic(struct str language)
{
    static const char *const codes[] = {"ba", "be", "bg", "ce", "cv", "kk", "ky",
                                        "mk", "mn", "ru", "sr", "tg", "tt", "uk"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (str_equal(language, str_of(codes[i])))
            return true;
    return false;
}

/* The rows of a wiki's language. */
static const struct local_unit *rows_of(struct str wiki, size_t *count)
{
    const bool is_arabic = str_equal(wiki, STR("arz")) || str_equal(wiki, STR("ary"));
    const struct str language = is_arabic ? STR("ar") : wiki;
    size_t all, low = 0;
    const struct local_unit *rows = local_unit_table(&all);
    for (size_t high = all; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if (str_compare(str_of(rows[middle].language), language) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < all && str_equal(str_of(rows[end].language), language))
        end++;
    *count = end - low;
    return rows + low;
}

const char *local_unit_shown(struct str wiki, const char *symbol)
{
    size_t count;
    const struct local_unit *rows = rows_of(wiki, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].symbol, symbol) == 0)
            return rows[i].shown;
    for (size_t i = 0; i < CYRILLIC_UNITS && is_cyrillic(wiki); i++)
        if (strcmp(cyrillic_units[i][0], symbol) == 0)
            return cyrillic_units[i][1];
    return NULL;
}

/* True if the text is what a row shows, whichever marks stand for the Hebrew ones. */
static bool is_shown(const char *shown, struct str text)
{
    static const char *const marks[][2] = {{"״", "\""}, {"׳", "'"}};
    struct str rest = str_of(shown);
    while (rest.size > 0 && text.size > 0) {
        size_t size = 1;
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (str_starts(rest, str_of(marks[i][0])) && str_starts(text, str_of(marks[i][1])))
                size = strlen(marks[i][0]);
        if (size == 1 && rest.data[0] != text.data[0])
            return false;
        rest = (struct str){rest.data + size, rest.size - size};
        text = (struct str){text.data + 1, text.size - 1};
    }
    return rest.size == 0 && text.size == 0;
}

const struct unit *local_unit_find(struct str wiki, struct str shown)
{
    size_t count;
    const struct local_unit *rows = rows_of(wiki, &count);
    for (size_t i = 0; i < count; i++)
        if (is_shown(rows[i].shown, shown))
            return unit_find(str_of(rows[i].symbol));
    for (size_t i = 0; i < CYRILLIC_UNITS && is_cyrillic(wiki); i++)
        if (str_equal(str_of(cyrillic_units[i][1]), shown))
            return unit_find(str_of(cyrillic_units[i][0]));
    return NULL;
}

const struct unit *unit_table(size_t *count)
{
    *count = sizeof units / sizeof *units;
    return units;
}
