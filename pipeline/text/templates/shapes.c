/* Templates without a row whose arguments tell what they show, whatever the wiki calls them: a measure
 * ({{xyz|5|km}}), a word of another language ({{xyz|fr|mot}}, {{xyz-fr|mot}}), a number ({{xyz|12345}}), a country (its
 * name alone). They show only at a place where words can be, after a blank or an opening bracket, because {{xyz|5}}
 * right after a word is the sign of a note. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/numbers.h"
#include "pipeline/text/words/languages.h"

/* Without blanks in front, because Thai, Chinese and Japanese have none. */
static bool is_wide(struct str before)
{
    return before.size >= 3 && (unsigned char)before.data[before.size - 3] >= 0xE0 &&
           (unsigned char)before.data[before.size - 3] <= 0xE9;
}

static bool can_be_words(const struct call *call)
{
    LOCAL_WORDS(opens, "\xC2\xA0", "（", "「", "„", "“", "«", "–");
    const char *page = call->page->text.data;
    const struct str before = str_range(page, page + call->span->start);
    if (before.size == 0 || (unsigned char)before.data[before.size - 1] < 0x80)
        return before.size > 0 && strchr(" (\"/", before.data[before.size - 1]);
    return words_ending(opens, before) > 0 || is_wide(before);
}

/* A code in small letters, such as fr and grc. */
static bool is_language(struct str code)
{
    if (code.size < 2 || code.size > 3)
        return false;
    for (size_t i = 0; i < code.size; i++)
        if (code.data[i] < 'a' || code.data[i] > 'z')
            return false;
    return language_is_code(code);
}

static bool is_number(struct call *call, struct str text)
{
    double value;
    int precision;
    return text.size > 0 && number_read(call_plain_number(call, text), &value, &precision);
}

/* A name of a file or an address is no word. */
static bool is_word(struct call *call, const struct argument *argument)
{
    const struct str text = call_value_of(call, argument);
    return text.size > 0 && !call->is_opaque && str_find(text, STR("://")) == SIZE_MAX && !str_has(text, '=') &&
           !is_number(call, text);
}

bool render_shape(struct call *call, uint32_t index)
{
    char folded[NAME_BYTES_MAX];
    const struct str name = name_fold(call->name, folded);
    if (!can_be_words(call) || words_have(silent_templates, name) || name_says_note(name))
        return false;
    call_read(call, index, 0);
    unsigned unnamed = 0, named = 0;
    for (size_t i = 0; i < call->count; i++)
        *(call->arguments[i].number > 0 ? &unnamed : &named) += call->arguments[i].from < call->arguments[i].to;
    const struct argument *first = call_numbered(call, 1), *second = call_numbered(call, 2);
    if (call->count == 0 && is_country(call->name, call->page->code)) {
        show(call, call->name);
        return true;
    }
    const struct str value = call_value_of(call, first);
    if (!first || call->is_opaque)
        return false;
    if (is_number(call, value) && unnamed > 1)
        return call_is_measure(call) && (unnamed > 2 ? render_convert(call) : render_unit(call));
    if (call->page->in_item) /* {{IMDb|0709446}} and {{link-en|x}} in lists name pages elsewhere */
        return false;
    if (is_number(call, value)) /* a shorter one may be a page or a note */
        return named == 0 && value.size > 4 && render_unit(call);
    if (unnamed == 2 && second && is_language(value) && !is_language(call_value_of(call, second)) &&
        is_word(call, second)) {
        show_argument(call, second);
        return true;
    }
    const char *dash = memrchr(call->name.data, '-', call->name.size);
    if (!dash || dash == call->name.data || !is_word(call, first) ||
        !is_language(str_range(dash + 1, call->name.data + call->name.size)))
        return false;
    show_argument(call, first);
    return true;
}
