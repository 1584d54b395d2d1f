/* Words of other languages, ships, countries and roads. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/words/codes.h"
#include "pipeline/text/templates/countries.h"

static const struct country_names *names_in(struct str language)
{
    for (size_t i = 0; i < country_names_count; i++)
        if (str_equal(str_of(country_names[i].language), language))
            return &country_names[i];
    return NULL;
}

const char *country_of(struct str alpha3, struct str language)
{
    char folded[NAME_BYTES_MAX];
    if (str_equal(language, STR("en")))
        return names_find(countries_en, name_fold(alpha3, folded));
    const struct country_names *names = names_in(language);
    for (size_t i = 0; names && i < country_code_count; i++)
        if (str_equal(str_of(country_codes[i].code), alpha3))
            return names->names[country_codes[i].number];
    return NULL;
}

bool is_country(struct str name, struct str language)
{
    const struct country_names *names = names_in(language);
    for (size_t i = 0; names && i < COUNTRIES; i++)
        if (names->names[i] && str_equal(str_of(names->names[i]), name))
            return true;
    return false;
}

static const struct argument *first_of(const struct call *call, const char *name, const struct argument *other)
{
    const struct argument *found = call_argument(call, name);
    return found ? found : other;
}

/* What stands before a word in {{lang-en|word}}: "англ. word", "英語: word", on the Russian, Ukrainian, Polish and
 * Japanese wikis; on other wikis we show the word alone. The abbreviations are the usual ones of these languages; they
 * were not compared with the wikis' own templates. */
static void show_language_label(struct call *call, struct str code)
{
    static const struct {
        const char *wiki;
        const struct names *labels;
    } wikis[] = {{"ja", &labels_ja}, {"pl", &labels_pl}, {"ru", &labels_ru}, {"uk", &labels_uk}};
    for (size_t i = 0; i < sizeof wikis / sizeof *wikis; i++) {
        const bool is_wiki = str_equal(call->page->code, str_of(wikis[i].wiki));
        const char *label = is_wiki ? names_find(*wikis[i].labels, code) : NULL;
        if (label) {
            show_text(call, label);
            show_text(call, " ");
        }
    }
}

/* "Russian: кит, romanized: kit, lit. 'whale'"; `first` is the number of the word's argument. */
static bool show_language(struct call *call, struct str code, unsigned first)
{
    const struct argument *word = call_numbered(call, first);
    const struct argument *latin = first_of(call, "translit", call_numbered(call, first + 1));
    const struct argument *sense = first_of(call, "lit", first_of(call, "translation", call_numbered(call, first + 2)));
    if (!word)
        word = call_argument(call, "text");
    if (!word)
        return false;
    if (!call_english(call)) {
        if (!call_says(call, "label", "none"))
            show_language_label(call, code);
        show_argument(call, word);
        return true;
    }
    const char *name = names_find(languages_en, code); /* where it differs from ISO 639's */
    name = name ? name : code_name(code);
    const struct argument *label = call_argument(call, "label");
    if (label && !call_says(call, "label", "none")) {
        show_if(call, "", label, ": ");
    } else if (name && !label) {
        show_text(call, name);
        show_text(call, ": ");
    }
    show_argument(call, word);
    show_if(call, ", romanized: ", latin, "");
    show_if(call, ", lit. '", sense, "'");
    return true;
}

bool render_lang_of(struct call *call, struct str code)
{
    return show_language(call, code, 1);
}

/* {{langx|fr|mot}} */
bool render_langx(struct call *call)
{
    return show_language(call, call_value(call, "1"), 2);
}

/* {{"|text}}: in the quotation marks of the page's language. */
bool render_quoted(struct call *call)
{
    const char *code = call->page->language->code;
    const bool german = strcmp(code, "de") == 0, french = strcmp(code, "fr") == 0;
    const struct argument *text = first_of(call, "text", call_argument(call, "1"));
    show_if(call, german ? "„" : french ? "« " : "\"", text, german ? "“" : french ? " »" : "\"");
    return text;
}

/* {{USS|Hornet|CV-12|6}} → USS Hornet (CV-12): the last number says which parts show. The parameter is the prefix; ""
 * for {{ship|prefix|name|id|format}}. */
bool render_ship(struct call *call)
{
    const bool has_prefix = call->parameter.size > 0;
    const unsigned first = has_prefix ? 1 : 2;
    const struct argument *name = call_numbered(call, first), *id = call_numbered(call, first + 1);
    const struct argument *prefix = has_prefix ? NULL : call_numbered(call, 1);
    const struct str format = call_value_of(call, call_numbered(call, first + 2));
    const char code = format.size == 1 ? format.data[0] : '0';
    if (!name)
        return false;
    const bool shows_prefix = code != '1' && code != '2' && code != '3', shows_id = code != '2' && code != '6';
    if (code == '1' && id) {
        show_argument(call, id);
        return true;
    }
    if (shows_prefix && has_prefix)
        show(call, call->parameter);
    else if (shows_prefix && prefix)
        show_argument(call, prefix);
    if (shows_prefix && (has_prefix || prefix))
        show_text(call, " ");
    show_argument(call, name);
    if (shows_id)
        show_if(call, " (", id, ")");
    return true;
}

/* {{flag|USA}} → United States; the parameter is the argument that names the country, if it is not the first. */
bool render_flag(struct call *call)
{
    const char *place = call->parameter.size > 0 ? call->parameter.data : "1";
    const struct argument *argument = first_of(call, "name", call_argument(call, place));
    const struct str code = call_value(call, place);
    bool is_code = code.size > 1 && code.size < 4;
    for (size_t i = 0; i < code.size; i++)
        is_code &= code.data[i] >= 'A' && code.data[i] <= 'Z';
    const char *name = is_code ? country_of(code, call->page->code) : NULL;
    if (!argument)
        return false;
    if (name && !call_argument(call, "name"))
        show_text(call, name);
    else
        show_argument(call, argument);
    return true;
}

/* {{zh|t=漢字|s=汉字|p=hànzì|l=Chinese characters}} → Chinese: 漢字 … with the labels that English pages give them. */
bool render_chinese(struct call *call)
{
    static const struct {
        const char *name, *label, *end;
    } kinds[] = {{"c", "Chinese: ", ""}, {"s", "simplified Chinese: ", ""}, {"t", "traditional Chinese: ", ""},
                 {"p", "pinyin: ", ""},  {"w", "Wade–Giles: ", ""},         {"j", "Jyutping: ", ""},
                 {"y", "Yale: ", ""},    {"poj", "Pe̍h-ōe-jī: ", ""},        {"l", "lit. '", "'"}};
    const bool labels = call_english(call) && !call_says(call, "labels", "no");
    bool any = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct argument *argument = call_argument(call, kinds[i].name);
        if (!argument)
            continue;
        if (any)
            show_text(call, "; ");
        if (labels)
            show_text(call, kinds[i].label);
        show_argument(call, argument);
        if (labels)
            show_text(call, kinds[i].end);
        any = true;
    }
    const struct argument *only = any ? NULL : call_argument(call, "1");
    show_if(call, "", only, "");
    return any || only;
}

/* {{ill|Lemma|de}} → Lemma. Older pages have {{ill|de|Lemma|Their title}}. */
bool render_interlanguage(struct call *call)
{
    char folded[NAME_BYTES_MAX];
    const struct argument *label = first_of(call, "lt", call_argument(call, "1"));
    const struct str first = call_value(call, "1");
    if (!call_argument(call, "lt") && first.size < 4 && language_is_code(name_fold(first, folded)))
        label = first_of(call, "3", call_argument(call, "2"));
    show_argument(call, label);
    return label;
}

/* {{IPA|/eɪ/}}, {{IPA|fr|mɔ}}: shown where the sentence speaks of the sound; alone between brackets and semicolons it
 * tells how to say a word, and goes with them. The parameter is the sign to put around it. */
bool render_ipa(struct call *call)
{
    LOCAL_WORDS(opens, "(", ";", "（", "；");
    LOCAL_WORDS(closes, ")", ";", "）", "；");
    LOCAL_WORDS(commas, ",", "、");
    const char *page = call->page->text.data;
    struct str before = str_range(page, page + call->span->start);
    struct str after = str_range(page + call->span->end, page + call->page->text.size);
    before.size -= str_ends(before, STR(" "));
    if (str_starts(after, STR(" ")))
        after = str_from(after, 1);
    const struct argument *second = call_argument(call, "2");
    const bool has_language = second && language_is_code(call_value(call, "1"));
    const struct argument *sound = has_language ? second : call_argument(call, "1");
    if (!sound || words_ending(opens, before) > 0 ||
        (words_ending(commas, before) > 0 && words_starting(closes, after) > 0))
        return false;
    const struct str sign = has_language ? STR("[") : call->parameter;
    show(call, sign);
    show_argument(call, sound);
    show_text(call, sign.size == 0 ? "" : sign.data[0] == '[' ? "]" : "/");
    return true;
}

/* {{IPAc-en|ˈ|eɪ|b}} → /ˈeɪb/, {{IPA-de|tʃ}} → [tʃ]: mostly beside the word that they tell how to say, and then
 * dropped; shown where a word asks for them: "occasionally /ˈæʃfɔːlt/". */
bool render_pronunciation(struct call *call)
{
    LOCAL_WORDS(kinds, "UK", "US", "icon", "lang", "local", "pron", "uk", "us");
    const char *page = call->page->text.data;
    const char *end = page + call->span->start;
    const bool in_english = !str_starts(call->name, STR("IPA-")) && !str_starts(call->name, STR("Ipa-"));
    if (end - page < 2 || end[-1] != ' ' || !ascii_is_letter(end[-2]))
        return false;
    bool any = false;
    for (size_t i = 0; i < call->count && (in_english || !any); i++) {
        const struct argument *argument = &call->arguments[i];
        const struct str sound = call_value_of(call, argument);
        if (argument->number == 0 || sound.size == 0 || words_have(kinds, sound))
            continue;
        show_text(call, any ? "" : in_english ? "/" : "[");
        show(call, sound);
        any = true;
    }
    show_text(call, in_english ? "/" : "]");
    return any && !call->is_opaque;
}

/* {{jct|state=CA|I|5|US|101|city1=Fresno}} → I-5 / US 101 in Fresno */
bool render_junction(struct call *call)
{
    for (unsigned at = 1; at <= 8 && call_numbered(call, at) && call_numbered(call, at + 1); at += 2) {
        const struct str type = call_value_of(call, call_numbered(call, at));
        show_text(call, at > 1 ? " / " : "");
        show(call, type);
        show_text(call, str_equal(type, STR("I")) ? "-" : " ");
        show(call, call_value_of(call, call_numbered(call, at + 1)));
    }
    if (!call_numbered(call, 2) || call->is_opaque)
        return false;
    if (call_argument(call, "city1")) {
        show_text(call, " in ");
        show(call, call_value(call, "city1"));
    }
    return true;
}

/* {{harvtxt|Smith|Jones|1999|p=5}} → Smith & Jones (1999, p. 5); the parameter, where there is one, parts year and
 * page: {{harvcoltxt|Smith|1999|p=5}} → Smith (1999:5). */
bool render_cited(struct call *call)
{
    unsigned count = 0;
    while (count < 6 && call_numbered(call, count + 1))
        count++;
    if (count < 2)
        return false;
    const unsigned authors = count - 1;
    for (unsigned i = 1; i <= authors && i <= (authors > 3 ? 1u : 3u); i++) {
        show_text(call, i == 1 ? "" : i == authors ? " & " : ", ");
        show_argument(call, call_numbered(call, i));
    }
    show_text(call, authors > 3 ? " et al. (" : " (");
    show_argument(call, call_numbered(call, count));
    static const char *const places[][2] = {{"p", ", p. "}, {"pp", ", pp. "}, {"loc", ", "}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const struct argument *place = call_argument(call, places[i][0]);
        if (!place)
            continue;
        show(call, call->parameter.size > 0 ? call->parameter : str_of(places[i][1]));
        show_argument(call, place);
    }
    show_text(call, ")");
    return true;
}
