/* Words of other languages, ships, countries and roads. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/templates/countries.h"

struct code_name {
    const char *code, *name;
};

/* Sorted bytewise. */
static const struct code_name languages[] = {
    {"aa", "Afar"},
    {"ab", "Abkhaz"},
    {"af", "Afrikaans"},
    {"ak", "Akan"},
    {"akk", "Akkadian"},
    {"ale", "Aleut"},
    {"aln", "Gheg Albanian"},
    {"am", "Amharic"},
    {"an", "Aragonese"},
    {"ang", "Old English"},
    {"ar", "Arabic"},
    {"arc", "Aramaic"},
    {"arz", "Egyptian Arabic"},
    {"as", "Assamese"},
    {"ast", "Asturian"},
    {"av", "Avar"},
    {"ay", "Aymara"},
    {"az", "Azerbaijani"},
    {"ba", "Bashkir"},
    {"bar", "Bavarian"},
    {"be", "Belarusian"},
    {"ber", "Berber languages"},
    {"bg", "Bulgarian"},
    {"bn", "Bengali"},
    {"bo", "Standard Tibetan"},
    {"br", "Breton"},
    {"bs", "Bosnian"},
    {"ca", "Catalan"},
    {"ce", "Chechen"},
    {"ceb", "Cebuano"},
    {"chr", "Cherokee"},
    {"ckb", "Sorani Kurdish"},
    {"co", "Corsican"},
    {"cop", "Coptic"},
    {"cr", "Cree"},
    {"crh", "Crimean Tatar"},
    {"cs", "Czech"},
    {"csb", "Kashubian"},
    {"cu", "Church Slavonic"},
    {"cv", "Chuvash"},
    {"cy", "Welsh"},
    {"da", "Danish"},
    {"de", "German"},
    {"dsb", "Lower Sorbian"},
    {"dv", "Divehi"},
    {"egy", "Egyptian"},
    {"el", "Greek"},
    {"en", "English"},
    {"eo", "Esperanto"},
    {"es", "Spanish"},
    {"et", "Estonian"},
    {"eu", "Basque"},
    {"fa", "Persian"},
    {"fi", "Finnish"},
    {"fil", "Filipino"},
    {"fj", "Fijian"},
    {"fo", "Faroese"},
    {"fr", "French"},
    {"fro", "Old French"},
    {"frr", "North Frisian"},
    {"fur", "Friulian"},
    {"fy", "West Frisian"},
    {"ga", "Irish"},
    {"gd", "Scottish Gaelic"},
    {"gl", "Galician"},
    {"gn", "Guarani"},
    {"got", "Gothic"},
    {"grc", "Ancient Greek"},
    {"grc-gre", "Greek"},
    {"gsw", "Swiss German"},
    {"gu", "Gujarati"},
    {"gv", "Manx"},
    {"ha", "Hausa"},
    {"haw", "Hawaiian"},
    {"he", "Hebrew"},
    {"hi", "Hindi"},
    {"hr", "Croatian"},
    {"hsb", "Upper Sorbian"},
    {"ht", "Haitian Creole"},
    {"hu", "Hungarian"},
    {"hy", "Armenian"},
    {"ia", "Interlingua"},
    {"id", "Indonesian"},
    {"ig", "Igbo"},
    {"ilo", "Ilocano"},
    {"inh", "Ingush"},
    {"is", "Icelandic"},
    {"it", "Italian"},
    {"iu", "Inuktitut"},
    {"ja", "Japanese"},
    {"jv", "Javanese"},
    {"ka", "Georgian"},
    {"kab", "Kabyle"},
    {"kk", "Kazakh"},
    {"kl", "Greenlandic"},
    {"km", "Khmer"},
    {"kn", "Kannada"},
    {"ko", "Korean"},
    {"ks", "Kashmiri"},
    {"ku", "Kurdish"},
    {"kv", "Komi"},
    {"kw", "Cornish"},
    {"ky", "Kyrgyz"},
    {"la", "Latin"},
    {"lad", "Judaeo-Spanish"},
    {"lb", "Luxembourgish"},
    {"li", "Limburgish"},
    {"lij", "Ligurian"},
    {"lmo", "Lombard"},
    {"ln", "Lingala"},
    {"lo", "Lao"},
    {"lt", "Lithuanian"},
    {"lv", "Latvian"},
    {"mg", "Malagasy"},
    {"mi", "Māori"},
    {"mk", "Macedonian"},
    {"ml", "Malayalam"},
    {"mn", "Mongolian"},
    {"mr", "Marathi"},
    {"ms", "Malay"},
    {"mt", "Maltese"},
    {"my", "Burmese"},
    {"nah", "Nahuatl languages"},
    {"nap", "Neapolitan"},
    {"nds", "Low German"},
    {"ne", "Nepali"},
    {"nl", "Dutch"},
    {"nn", "Norwegian Nynorsk"},
    {"no", "Norwegian"},
    {"non", "Old Norse"},
    {"nv", "Navajo"},
    {"ny", "Chewa"},
    {"oc", "Occitan"},
    {"om", "Oromo"},
    {"or", "Odia"},
    {"os", "Ossetian"},
    {"ota", "Ottoman Turkish"},
    {"pa", "Punjabi"},
    {"peo", "Old Persian"},
    {"phn", "Phoenician"},
    {"pl", "Polish"},
    {"ps", "Pashto"},
    {"pt", "Portuguese"},
    {"qu", "Quechua"},
    {"rm", "Romansh"},
    {"rmy", "Vlax Romani"},
    {"ro", "Romanian"},
    {"ru", "Russian"},
    {"rus", "Russian"},
    {"rw", "Kinyarwanda"},
    {"sa", "Sanskrit"},
    {"sah", "Yakut"},
    {"sc", "Sardinian"},
    {"scn", "Sicilian"},
    {"sco", "Scots"},
    {"sd", "Sindhi"},
    {"se", "Northern Sami"},
    {"sh", "Serbo-Croatian"},
    {"si", "Sinhala"},
    {"sk", "Slovak"},
    {"sl", "Slovene"},
    {"sm", "Samoan"},
    {"sn", "Shona"},
    {"so", "Somali"},
    {"sq", "Albanian"},
    {"sr", "Serbian"},
    {"su", "Sundanese"},
    {"sv", "Swedish"},
    {"sw", "Swahili"},
    {"syc", "Classical Syriac"},
    {"syr", "Syriac"},
    {"szl", "Silesian"},
    {"ta", "Tamil"},
    {"te", "Telugu"},
    {"tet", "Tetum"},
    {"tg", "Tajik"},
    {"th", "Thai"},
    {"ti", "Tigrinya"},
    {"tk", "Turkmen"},
    {"tl", "Tagalog"},
    {"tn", "Tswana"},
    {"to", "Tongan"},
    {"tpi", "Tok Pisin"},
    {"tr", "Turkish"},
    {"tt", "Tatar"},
    {"udm", "Udmurt"},
    {"ug", "Uyghur"},
    {"uk", "Ukrainian"},
    {"ur", "Urdu"},
    {"uz", "Uzbek"},
    {"vec", "Venetian"},
    {"vi", "Vietnamese"},
    {"vo", "Volapük"},
    {"wa", "Walloon"},
    {"wo", "Wolof"},
    {"xh", "Xhosa"},
    {"yi", "Yiddish"},
    {"yo", "Yoruba"},
    {"yua", "Yucatec Maya"},
    {"zh", "Chinese"},
    {"zu", "Zulu"},
};

static const struct code_name countries[] = {
    {"afg", "Afghanistan"},
    {"alb", "Albania"},
    {"arg", "Argentina"},
    {"arm", "Armenia"},
    {"aus", "Australia"},
    {"aut", "Austria"},
    {"aze", "Azerbaijan"},
    {"bel", "Belgium"},
    {"ben", "Benin"},
    {"bgd", "Bangladesh"},
    {"bgr", "Bulgaria"},
    {"bih", "Bosnia and Herzegovina"},
    {"blr", "Belarus"},
    {"bol", "Bolivia"},
    {"bra", "Brazil"},
    {"bul", "Bulgaria"},
    {"can", "Canada"},
    {"che", "Switzerland"},
    {"chi", "Chile"},
    {"chl", "Chile"},
    {"chn", "China"},
    {"civ", "Ivory Coast"},
    {"cmr", "Cameroon"},
    {"col", "Colombia"},
    {"cri", "Costa Rica"},
    {"cro", "Croatia"},
    {"cub", "Cuba"},
    {"cyp", "Cyprus"},
    {"cze", "Czech Republic"},
    {"den", "Denmark"},
    {"deu", "Germany"},
    {"dnk", "Denmark"},
    {"dza", "Algeria"},
    {"ecu", "Ecuador"},
    {"egy", "Egypt"},
    {"eng", "England"},
    {"esp", "Spain"},
    {"est", "Estonia"},
    {"eth", "Ethiopia"},
    {"fin", "Finland"},
    {"fra", "France"},
    {"frg", "West Germany"},
    {"fro", "Faroe Islands"},
    {"gbr", "United Kingdom"},
    {"gdr", "East Germany"},
    {"geo", "Georgia"},
    {"ger", "Germany"},
    {"gha", "Ghana"},
    {"grc", "Greece"},
    {"gre", "Greece"},
    {"hkg", "Hong Kong"},
    {"hrv", "Croatia"},
    {"hun", "Hungary"},
    {"idn", "Indonesia"},
    {"ina", "Indonesia"},
    {"ind", "India"},
    {"iri", "Iran"},
    {"irl", "Ireland"},
    {"irn", "Iran"},
    {"irq", "Iraq"},
    {"isl", "Iceland"},
    {"isr", "Israel"},
    {"ita", "Italy"},
    {"jam", "Jamaica"},
    {"jor", "Jordan"},
    {"jpn", "Japan"},
    {"kaz", "Kazakhstan"},
    {"ken", "Kenya"},
    {"kor", "South Korea"},
    {"kwt", "Kuwait"},
    {"lbn", "Lebanon"},
    {"lka", "Sri Lanka"},
    {"ltu", "Lithuania"},
    {"lux", "Luxembourg"},
    {"lva", "Latvia"},
    {"mar", "Morocco"},
    {"mas", "Malaysia"},
    {"mda", "Moldova"},
    {"mex", "Mexico"},
    {"mkd", "North Macedonia"},
    {"mlt", "Malta"},
    {"mne", "Montenegro"},
    {"mng", "Mongolia"},
    {"mys", "Malaysia"},
    {"ned", "Netherlands"},
    {"nga", "Nigeria"},
    {"nir", "Northern Ireland"},
    {"nld", "Netherlands"},
    {"nor", "Norway"},
    {"npl", "Nepal"},
    {"nzl", "New Zealand"},
    {"pak", "Pakistan"},
    {"pan", "Panama"},
    {"per", "Peru"},
    {"phi", "Philippines"},
    {"phl", "Philippines"},
    {"pol", "Poland"},
    {"por", "Portugal"},
    {"prc", "People's Republic of China"},
    {"prk", "North Korea"},
    {"prt", "Portugal"},
    {"pry", "Paraguay"},
    {"qat", "Qatar"},
    {"roc", "Republic of China"},
    {"rou", "Romania"},
    {"rsa", "South Africa"},
    {"rsm", "San Marino"},
    {"rus", "Russia"},
    {"sau", "Saudi Arabia"},
    {"sco", "Scotland"},
    {"sen", "Senegal"},
    {"sgp", "Singapore"},
    {"sin", "Singapore"},
    {"slo", "Slovenia"},
    {"srb", "Serbia"},
    {"sui", "Switzerland"},
    {"svk", "Slovakia"},
    {"svn", "Slovenia"},
    {"swe", "Sweden"},
    {"syr", "Syria"},
    {"tch", "Czechoslovakia"},
    {"tha", "Thailand"},
    {"tpe", "Chinese Taipei"},
    {"tun", "Tunisia"},
    {"tur", "Turkey"},
    {"twn", "Taiwan"},
    {"uae", "United Arab Emirates"},
    {"uga", "Uganda"},
    {"uk", "United Kingdom"},
    {"ukr", "Ukraine"},
    {"urs", "Soviet Union"},
    {"uru", "Uruguay"},
    {"ury", "Uruguay"},
    {"us", "United States"},
    {"usa", "United States"},
    {"uzb", "Uzbekistan"},
    {"ven", "Venezuela"},
    {"vnm", "Vietnam"},
    {"wal", "Wales"},
    {"yug", "Yugoslavia"},
    {"zaf", "South Africa"},
    {"zwe", "Zimbabwe"},
};

static const char *name_of(const struct code_name *rows, size_t count, struct str code)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = str_compare(str_of(rows[middle].code), code);
        if (order == 0)
            return rows[middle].name;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

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
        return name_of(countries, sizeof countries / sizeof *countries, name_fold(alpha3, folded));
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
    const char *name = name_of(languages, sizeof languages / sizeof *languages, code);
    const struct argument *label = call_argument(call, "label");
    if (label && !call_says(call, "label", "none")) {
        show_argument(call, label);
        show_text(call, ": ");
    } else if (name && !label) {
        show_text(call, name);
        show_text(call, ": ");
    }
    show_argument(call, word);
    if (latin) {
        show_text(call, ", romanized: ");
        show_argument(call, latin);
    }
    if (sense) {
        show_text(call, ", lit. '");
        show_argument(call, sense);
        show_text(call, "'");
    }
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
    if (!text)
        return false;
    show_text(call, german ? "„" : french ? "« " : "\"");
    show_argument(call, text);
    show_text(call, german ? "“" : french ? " »" : "\"");
    return true;
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
    if (shows_id && id) {
        show_text(call, " (");
        show_argument(call, id);
        show_text(call, ")");
    }
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
    const struct argument *only = call_argument(call, "1");
    if (!any && only)
        show_argument(call, only);
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

static bool ends_with_one(struct str text, const char *const signs[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_ends(text, str_of(signs[i])))
            return true;
    return false;
}

static bool starts_with_one(struct str text, const char *const signs[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_starts(text, str_of(signs[i])))
            return true;
    return false;
}

/* {{IPA|/eɪ/}}: shown where the sentence speaks of the sound; alone between brackets and semicolons it tells how to say
 * a word, and goes with them. The parameter is the sign to put around it. */
bool render_ipa(struct call *call)
{
    static const char *const opens[] = {"(", ";", "（", "；"}, *const closes[] = {")", ";", "）", "；"};
    static const char *const commas[] = {",", "、"};
    const char *page = call->page->text.data;
    struct str before = str_range(page, page + call->span->start);
    struct str after = str_range(page + call->span->end, page + call->page->text.size);
    before.size -= str_ends(before, STR(" "));
    if (str_starts(after, STR(" ")))
        after = (struct str){after.data + 1, after.size - 1};
    const struct argument *sound = call_argument(call, "1");
    if (!sound || ends_with_one(before, opens, 4) ||
        (ends_with_one(before, commas, 2) && starts_with_one(after, closes, 4)))
        return false;
    const bool has_sign = call->parameter.size > 0;
    show(call, call->parameter);
    show_argument(call, sound);
    show_text(call, !has_sign ? "" : call->parameter.data[0] == '[' ? "]" : "/");
    return true;
}

/* {{IPAc-en|ˈ|eɪ|b}} → /ˈeɪb/, {{IPA-de|tʃ}} → [tʃ]: mostly beside the word that they tell how to say, and then
 * dropped; shown where a word asks for them: "occasionally /ˈæʃfɔːlt/". */
bool render_pronunciation(struct call *call)
{
    static const char *const kinds[] = {"UK", "US", "icon", "lang", "local", "pron", "uk", "us"};
    const char *page = call->page->text.data;
    const char *end = page + call->span->start;
    const bool in_english = !str_starts(call->name, STR("IPA-")) && !str_starts(call->name, STR("Ipa-"));
    if (end - page < 2 || end[-1] != ' ' || ((end[-2] | 0x20) < 'a' || (end[-2] | 0x20) > 'z'))
        return false;
    bool any = false;
    for (size_t i = 0; i < call->count && (in_english || !any); i++) {
        const struct argument *argument = &call->arguments[i];
        const struct str sound = call_value_of(call, argument);
        bool is_kind = argument->number == 0 || sound.size == 0;
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            is_kind |= str_equal(sound, str_of(kinds[k]));
        if (is_kind)
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
