#include "pipeline/text/templates.h"

enum show {
    SHOW_TEXT,     /* `text` */
    SHOW_ARGUMENT, /* `text`, then the argument */
    SHOW_BLOCK,    /* the argument, as a paragraph of its own */
    SHOW_TITLE,    /* the title of the page */
};

/* Templates that stand in running text and are simple. Sorted bytewise by folded name; a name with a colon is a parser
 * function, and what follows the colon is its argument 0. */
static const struct rule {
    const char *name;
    enum show show;
    unsigned argument;
    const char *text;
} rules[] = {
    {"!", SHOW_TEXT, 0, "|"},
    {"!!", SHOW_TEXT, 0, "||"},
    {"\"'", SHOW_TEXT, 0, "\"'"},
    {"'", SHOW_TEXT, 0, "'"},
    {"'\"", SHOW_TEXT, 0, "'\""},
    {"'s", SHOW_TEXT, 0, "'s"},
    {"(", SHOW_TEXT, 0, "{"},
    {"((", SHOW_TEXT, 0, "{{"},
    {")", SHOW_TEXT, 0, "}"},
    {"))", SHOW_TEXT, 0, "}}"},
    {"*", SHOW_TEXT, 0, "*"},
    {"-\"", SHOW_TEXT, 0, "'\""},
    {"...", SHOW_TEXT, 0, "…"},
    {"=", SHOW_TEXT, 0, "="},
    {"abbr", SHOW_ARGUMENT, 1, ""},
    {"angbr", SHOW_ARGUMENT, 1, ""},
    {"angle bracket", SHOW_ARGUMENT, 1, ""},
    {"as written", SHOW_ARGUMENT, 1, ""},
    {"bdi", SHOW_ARGUMENT, 1, ""},
    {"big", SHOW_ARGUMENT, 1, ""},
    {"blockquote", SHOW_BLOCK, 1, ""},
    {"bold", SHOW_ARGUMENT, 1, ""},
    {"bquote", SHOW_BLOCK, 1, ""},
    {"bull", SHOW_TEXT, 0, " · "},
    {"bullet", SHOW_TEXT, 0, " · "},
    {"c.", SHOW_ARGUMENT, 1, "c. "},
    {"ca.", SHOW_ARGUMENT, 1, "c. "},
    {"center", SHOW_ARGUMENT, 1, ""},
    {"centre", SHOW_ARGUMENT, 1, ""},
    {"chem name", SHOW_ARGUMENT, 1, ""},
    {"circa", SHOW_ARGUMENT, 1, "c. "},
    {"cita", SHOW_BLOCK, 1, ""},
    {"citation bloc", SHOW_BLOCK, 1, ""},
    {"code", SHOW_ARGUMENT, 1, ""},
    {"color", SHOW_ARGUMENT, 2, ""},
    {"colour", SHOW_ARGUMENT, 2, ""},
    {"cquote", SHOW_BLOCK, 1, ""},
    {"dash", SHOW_TEXT, 0, " – "},
    {"degree", SHOW_TEXT, 0, "°"},
    {"dot", SHOW_TEXT, 0, " · "},
    {"ellipsis", SHOW_TEXT, 0, "…"},
    {"em", SHOW_ARGUMENT, 1, ""},
    {"em dash", SHOW_TEXT, 0, "—"},
    {"emdash", SHOW_TEXT, 0, "—"},
    {"en dash", SHOW_TEXT, 0, "–"},
    {"endash", SHOW_TEXT, 0, "–"},
    {"euro", SHOW_TEXT, 0, "€"},
    {"fl.", SHOW_ARGUMENT, 1, "fl. "},
    {"floruit", SHOW_ARGUMENT, 1, "fl. "},
    {"font color", SHOW_ARGUMENT, 2, ""},
    {"fontcolor", SHOW_ARGUMENT, 2, ""},
    {"formatnum:", SHOW_ARGUMENT, 0, ""},
    {"fullpagename", SHOW_TITLE, 0, ""},
    {"hair space", SHOW_TEXT, 0, " "},
    {"hairsp", SHOW_TEXT, 0, " "},
    {"hover title", SHOW_ARGUMENT, 2, ""},
    {"ill", SHOW_ARGUMENT, 1, ""},
    {"ins", SHOW_ARGUMENT, 1, ""},
    {"interlanguage link", SHOW_ARGUMENT, 1, ""},
    {"italic", SHOW_ARGUMENT, 1, ""},
    {"kbd", SHOW_ARGUMENT, 1, ""},
    {"key", SHOW_ARGUMENT, 1, ""},
    {"key press", SHOW_ARGUMENT, 1, ""},
    {"keypress", SHOW_ARGUMENT, 1, ""},
    {"lang", SHOW_ARGUMENT, 2, ""},
    {"langue", SHOW_ARGUMENT, 2, ""},
    {"langx", SHOW_ARGUMENT, 2, ""},
    {"large", SHOW_ARGUMENT, 1, ""},
    {"larger", SHOW_ARGUMENT, 1, ""},
    {"ldots", SHOW_TEXT, 0, "…"},
    {"linktext", SHOW_ARGUMENT, 1, ""},
    {"longitem", SHOW_ARGUMENT, 1, ""},
    {"mdash", SHOW_TEXT, 0, "—"},
    {"middot", SHOW_TEXT, 0, " · "},
    {"minus", SHOW_TEXT, 0, "−"},
    {"mono", SHOW_ARGUMENT, 1, ""},
    {"mvar", SHOW_ARGUMENT, 1, ""},
    {"nbsp", SHOW_TEXT, 0, " "},
    {"ndash", SHOW_TEXT, 0, "–"},
    {"nihongo", SHOW_ARGUMENT, 1, ""},
    {"nnbsp", SHOW_TEXT, 0, " "},
    {"no wrap", SHOW_ARGUMENT, 1, ""},
    {"nobr", SHOW_ARGUMENT, 1, ""},
    {"nobreak", SHOW_ARGUMENT, 1, ""},
    {"noitalic", SHOW_ARGUMENT, 1, ""},
    {"noitalics", SHOW_ARGUMENT, 1, ""},
    {"normal", SHOW_ARGUMENT, 1, ""},
    {"nosmall", SHOW_ARGUMENT, 1, ""},
    {"not a typo", SHOW_ARGUMENT, 1, ""},
    {"nowr", SHOW_ARGUMENT, 1, ""},
    {"nowrap", SHOW_ARGUMENT, 1, ""},
    {"overline", SHOW_ARGUMENT, 1, ""},
    {"pagename", SHOW_TITLE, 0, ""},
    {"pagenamebase", SHOW_TITLE, 0, ""},
    {"pi", SHOW_TEXT, 0, "π"},
    {"pipe", SHOW_TEXT, 0, "|"},
    {"plusmn", SHOW_TEXT, 0, "±"},
    {"poem quote", SHOW_BLOCK, 1, ""},
    {"poemquote", SHOW_BLOCK, 1, ""},
    {"proper name", SHOW_ARGUMENT, 1, ""},
    {"quotation", SHOW_BLOCK, 1, ""},
    {"quote", SHOW_BLOCK, 1, ""},
    {"resize", SHOW_ARGUMENT, 2, ""},
    {"rquote", SHOW_BLOCK, 2, ""},
    {"rtl-lang", SHOW_ARGUMENT, 2, ""},
    {"samp", SHOW_ARGUMENT, 1, ""},
    {"sc", SHOW_ARGUMENT, 1, ""},
    {"script", SHOW_ARGUMENT, 2, ""},
    {"shy", SHOW_TEXT, 0, ""},
    {"sic", SHOW_ARGUMENT, 1, ""},
    {"small", SHOW_ARGUMENT, 1, ""},
    {"small caps", SHOW_ARGUMENT, 1, ""},
    {"smallcaps", SHOW_ARGUMENT, 1, ""},
    {"smaller", SHOW_ARGUMENT, 1, ""},
    {"smdash", SHOW_TEXT, 0, " — "},
    {"snd", SHOW_TEXT, 0, " – "},
    {"sndash", SHOW_TEXT, 0, " – "},
    {"space", SHOW_TEXT, 0, " "},
    {"spaced em dash", SHOW_TEXT, 0, " — "},
    {"spaced en dash", SHOW_TEXT, 0, " – "},
    {"spaced mdash", SHOW_TEXT, 0, " — "},
    {"spaced ndash", SHOW_TEXT, 0, " – "},
    {"spaces", SHOW_TEXT, 0, " "},
    {"spnd", SHOW_TEXT, 0, " – "},
    {"spndash", SHOW_TEXT, 0, " – "},
    {"strong", SHOW_ARGUMENT, 1, ""},
    {"sub", SHOW_ARGUMENT, 1, ""},
    {"subpagename", SHOW_TITLE, 0, ""},
    {"sup", SHOW_ARGUMENT, 1, ""},
    {"thin space", SHOW_TEXT, 0, " "},
    {"thinsp", SHOW_TEXT, 0, " "},
    {"times", SHOW_TEXT, 0, "×"},
    {"title case", SHOW_ARGUMENT, 1, ""},
    {"tooltip", SHOW_ARGUMENT, 1, ""},
    {"tq", SHOW_ARGUMENT, 1, ""},
    {"transl", SHOW_ARGUMENT, 2, ""},
    {"transliteration", SHOW_ARGUMENT, 2, ""},
    {"tt", SHOW_ARGUMENT, 1, ""},
    {"underline", SHOW_ARGUMENT, 1, ""},
    {"vanchor", SHOW_ARGUMENT, 1, ""},
    {"var", SHOW_ARGUMENT, 1, ""},
    {"visible anchor", SHOW_ARGUMENT, 1, ""},
    {"wbr", SHOW_TEXT, 0, ""},
    {"wikt-lang", SHOW_ARGUMENT, 2, ""},
    {"yen", SHOW_TEXT, 0, "¥"},
    {"zitat", SHOW_BLOCK, 1, ""},
    {"zwj", SHOW_TEXT, 0, ""},
    {"zwnj", SHOW_TEXT, 0, ""},
    {"zwsp", SHOW_TEXT, 0, ""},
    {"£", SHOW_TEXT, 0, "£"},
    {"¥", SHOW_TEXT, 0, "¥"},
    {"±", SHOW_TEXT, 0, "±"},
    {"·", SHOW_TEXT, 0, " · "},
    {"•", SHOW_TEXT, 0, " · "},
    {"€", SHOW_TEXT, 0, "€"},
};

/* {{lang-fr|mot}} and its 600 sisters. */
static const struct rule language_rule = {"lang-", SHOW_ARGUMENT, 1, ""};

static const struct rule *find_rule(struct str name)
{
    size_t low = 0, high = sizeof rules / sizeof rules[0];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_compare(str_of(rules[middle].name), name);
        if (order == 0)
            return &rules[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return str_starts(name, STR("lang-")) ? &language_rule : NULL;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n';
}

static void place(struct rendering *rendering, struct str page, uint32_t from, uint32_t to)
{
    while (from < to && is_blank(page.data[from]))
        from++;
    while (from < to && is_blank(page.data[to - 1]))
        to--;
    rendering->from = from;
    rendering->to = to;
}

static bool is_number(struct str text, unsigned number)
{
    unsigned value = 0;
    const struct str digits = str_trim(text);
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9' || value > 99)
            return false;
        value = value * 10 + (unsigned)(digits.data[i] - '0');
    }
    return digits.size > 0 && value == number;
}

/* Does `name=` say the argument that the rule wants: by number, or as the text of a quotation? */
static bool is_wanted(const struct rule *rule, struct str name)
{
    return is_number(name, rule->argument) || (rule->show == SHOW_BLOCK && (str_equal(str_trim(name), STR("text")) ||
                                                                            str_equal(str_trim(name), STR("quote"))));
}

/* The argument that is as many-th without a name as the rule says, or has that number as its name. The last counts. */
static void find_argument(struct span_walk *walk, const struct rule *rule, struct rendering *rendering)
{
    const char *text = walk->page.data;
    uint32_t equals;
    unsigned position = 0;
    bool more = span_walk_to_bar(walk, &equals); /* the template's name */
    while (more) {
        const uint32_t from = ++walk->at;
        more = span_walk_to_bar(walk, &equals);
        const bool is_named = equals < walk->at;
        if (!is_named && ++position == rule->argument)
            place(rendering, walk->page, from, walk->at);
        else if (is_named && is_wanted(rule, str_range(text + from, text + equals)))
            place(rendering, walk->page, equals + 1, walk->at);
    }
}

struct str template_name(struct str page, const struct spans *spans, uint32_t index, char out[NAME_BYTES_MAX])
{
    const struct span *span = &spans->items[index];
    uint32_t end = span->inner_end;
    if (index + 1 < spans->count && spans->items[index + 1].start < end)
        end = spans->items[index + 1].start;
    const uint32_t limit = end - span->inner_start > NAME_BYTES_MAX ? span->inner_start + NAME_BYTES_MAX : end;
    uint32_t at = span->inner_start;
    while (at < limit && page.data[at] != '|')
        at++;
    if (at == limit && limit < end)
        return STR("");
    return name_fold(str_range(page.data + span->inner_start, page.data + at), out);
}

/* {{formatnum:1234|R}} */
static const struct rule *find_function(struct str name, struct str page, const struct span *span, uint32_t *argument)
{
    const char *colon = memchr(name.data, ':', name.size);
    const char *typed = memchr(page.data + span->inner_start, ':', span->inner_end - span->inner_start);
    if (!colon || !typed)
        return NULL;
    *argument = (uint32_t)(typed - page.data) + 1;
    return find_rule(str_range(name.data, colon + 1));
}

struct rendering template_render(struct str page, const struct spans *spans, uint32_t index, struct str title,
                                 uint64_t *steps)
{
    struct rendering rendering = {.text = STR("")};
    char folded[NAME_BYTES_MAX];
    const struct str name = template_name(page, spans, index, folded);
    *steps += NAME_BYTES_MAX;
    uint32_t function_argument = 0;
    const struct rule *rule = find_rule(name);
    if (!rule)
        rule = find_function(name, page, &spans->items[index], &function_argument);
    if (!rule) {
        rendering.dropped = true;
        return rendering;
    }
    struct span_walk walk = span_walk(page, spans, index);
    rendering.text = rule->show == SHOW_TITLE ? title : str_of(rule->text);
    rendering.is_block = rule->show == SHOW_BLOCK;
    if (function_argument > 0) {
        uint32_t equals;
        span_walk_to_bar(&walk, &equals);
        place(&rendering, page, function_argument, walk.at);
    } else if (rule->show == SHOW_ARGUMENT || rule->show == SHOW_BLOCK) {
        find_argument(&walk, rule, &rendering);
        rendering.dropped = rendering.from == rendering.to && rendering.text.size == 0;
    }
    *steps += walk.steps;
    return rendering;
}

struct rendering argument_render(struct str page, const struct spans *spans, uint32_t index, uint64_t *steps)
{
    struct rendering rendering = {.text = STR("")};
    struct span_walk walk = span_walk(page, spans, index);
    uint32_t equals;
    if (span_walk_to_bar(&walk, &equals)) {
        const uint32_t from = ++walk.at;
        span_walk_to_bar(&walk, &equals);
        place(&rendering, page, from, walk.at);
    }
    *steps += walk.steps;
    rendering.dropped = rendering.from == rendering.to;
    return rendering;
}
