/* Measures that are no {{convert}}: gauges of railways, heights of people, people per area. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/numbers.h"
#include "pipeline/text/templates/units.h"

#include <math.h>

/* {{RailGauge|1435mm}} → 1,435 mm (4 ft 8 1⁄2 in) */
bool render_gauge(struct call *call)
{
    static const struct {
        const char *typed, *shown;
    } gauges[] = {
        {"1435", "1,435 mm (4 ft 8 1⁄2 in)"},
        {"1000", "1,000 mm (3 ft 3 3⁄8 in)"},
        {"1067", "1,067 mm (3 ft 6 in)"},
        {"1520", "1,520 mm (4 ft 11 27⁄32 in)"},
        {"1524", "1,524 mm (5 ft)"},
        {"1600", "1,600 mm (5 ft 3 in)"},
        {"1668", "1,668 mm (5 ft 5 21⁄32 in)"},
        {"1676", "1,676 mm (5 ft 6 in)"},
        {"600", "600 mm (1 ft 11 5⁄8 in)"},
        {"750", "750 mm (2 ft 5 1⁄2 in)"},
        {"760", "760 mm (2 ft 5 15⁄16 in)"},
        {"762", "762 mm (2 ft 6 in)"},
        {"950", "950 mm (3 ft 1 3⁄8 in)"},
        {"usgauge", "4 ft 8 1⁄2 in (1,435 mm)"},
        {"standard", "1,435 mm (4 ft 8 1⁄2 in)"},
        {"sg", "1,435 mm (4 ft 8 1⁄2 in)"},
    };
    struct str typed = call_value(call, "1");
    if (str_ends(typed, STR(" mm")))
        typed.size -= 3;
    else if (str_ends(typed, STR("mm")))
        typed.size -= 2;
    for (size_t i = 0; call_english(call) && i < sizeof gauges / sizeof *gauges; i++) {
        if (!str_equal_ascii_nocase(typed, str_of(gauges[i].typed)))
            continue;
        show_text(call, gauges[i].shown);
        return true;
    }
    return false;
}

static bool read_value(struct call *call, const char *name, double *value)
{
    int precision;
    return number_read(call_value(call, name), value, &precision);
}

static void show_value(struct call *call, double value, int precision, const char *after)
{
    char out[NUMBER_BYTES_MAX];
    show(call, number_format(value, precision, out));
    show_text(call, after);
}

/* {{height|ft=5|in=11}} → 5 ft 11 in (1.80 m), {{height|m=1.8}} → 1.8 m (5 ft 11 in) */
bool render_height(struct call *call)
{
    double metres, feet, inches = 0;
    const bool in_cm = read_value(call, "cm", &metres);
    if (in_cm)
        metres /= 100;
    if (!call_english(call))
        return false;
    if (in_cm || read_value(call, "m", &metres)) {
        const double whole = round(metres / 0.0254);
        show(call, call_value(call, in_cm ? "cm" : "m"));
        show_text(call, in_cm ? " cm (" : " m (");
        show_value(call, floor(whole / 12), 0, " ft ");
        show_value(call, fmod(whole, 12), 0, " in)");
        return metres > 0 && metres < 100;
    }
    if (!read_value(call, "ft", &feet) || (call_argument(call, "in") && !read_value(call, "in", &inches)))
        return false;
    show(call, call_value(call, "ft"));
    show_text(call, " ft ");
    show(call, call_argument(call, "in") ? call_value(call, "in") : STR("0"));
    show_text(call, " in (");
    show_value(call, feet * 0.3048 + inches * 0.0254, 2, " m)");
    return feet >= 0 && feet < 300;
}

/* The unit "per square kilometre" of an area's unit. */
static const struct unit *per_area(struct str code)
{
    const struct unit *area = unit_find(code);
    static const char *const codes[] = {"/km2", "/sqmi", "/ha", "/acre"};
    for (size_t i = 0; area && i < sizeof codes / sizeof *codes; i++) {
        const struct unit *unit = unit_find(str_of(codes[i]));
        if (fabs(area->scale * unit->scale - 1) < 1e-6)
            return unit;
    }
    return NULL;
}

static void show_density(struct call *call, double density, const struct unit *unit)
{
    double places;
    const double shown = density / unit->scale;
    const bool has_places = read_value(call, "prec", &places) && fabs(places) < 10;
    show_value(call, shown, has_places ? (int)places : shown < 100, unit->symbol);
}

/* {{pop density|3645257|640081.87|km2|sqmi|prec=1}} → 5.7/km2 (14.7/sq mi): people, and the area they live in. */
bool render_density(struct call *call)
{
    double people, area;
    const struct unit *of_area = unit_find(call_value(call, "3")), *first = per_area(call_value(call, "3"));
    const struct unit *second = per_area(call_value(call, "4"));
    if (!call_english(call) || !first || !read_value(call, "1", &people) || !read_value(call, "2", &area) || area <= 0)
        return false;
    const double density = people / (area * of_area->scale);
    show_density(call, density, first);
    if (second && second != first) {
        show_text(call, " (");
        show_density(call, density, second);
        show_text(call, ")");
    }
    return density < 1e12;
}
