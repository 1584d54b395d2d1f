/* {{#language:fr}} → français, {{#language:fr|en}} → French: a language's name in itself, as MediaWiki has it, or in
 * English. Its names in other languages are left out. */
#include "pipeline/text/templates/call.h"
#include "pipeline/text/words/codes.h"

// clang-format off
static const char *const names[][2] = {
    {"af", "Afrikaans"}, {"ar", "العربية"}, {"az", "azərbaycanca"}, {"be", "беларуская"}, {"bg", "български"},
    {"bn", "বাংলা"}, {"bs", "bosanski"}, {"ca", "català"}, {"cs", "čeština"}, {"cy", "Cymraeg"}, {"da", "dansk"},
    {"de", "Deutsch"}, {"el", "Ελληνικά"}, {"en", "English"}, {"eo", "Esperanto"}, {"es", "español"}, {"et", "eesti"},
    {"eu", "euskara"}, {"fa", "فارسی"}, {"fi", "suomi"}, {"fr", "français"}, {"ga", "Gaeilge"}, {"gl", "galego"},
    {"he", "עברית"}, {"hi", "हिन्दी"}, {"hr", "hrvatski"}, {"hu", "magyar"}, {"hy", "հայերեն"},
    {"id", "Bahasa Indonesia"}, {"is", "íslenska"}, {"it", "italiano"}, {"ja", "日本語"}, {"ka", "ქართული"},
    {"kk", "қазақша"}, {"ko", "한국어"}, {"la", "Latina"}, {"lt", "lietuvių"}, {"lv", "latviešu"},
    {"mk", "македонски"}, {"ms", "Bahasa Melayu"}, {"nb", "norsk bokmål"}, {"nl", "Nederlands"},
    {"nn", "norsk nynorsk"}, {"no", "norsk"}, {"pl", "polski"}, {"pt", "português"}, {"ro", "română"},
    {"ru", "русский"}, {"sk", "slovenčina"}, {"sl", "slovenščina"}, {"sq", "shqip"}, {"sv", "svenska"},
    {"ta", "தமிழ்"}, {"te", "తెలుగు"}, {"th", "ไทย"}, {"tr", "Türkçe"}, {"uk", "українська"}, {"ur", "اردو"},
    {"vi", "Tiếng Việt"}, {"zh", "中文"},
};
// clang-format on

bool render_language(struct call *call)
{
    const struct str code = call_value(call, "0"), in = call_value(call, "1");
    if (call->is_opaque)
        return false;
    if (str_equal(in, STR("en")) && code_name(code)) {
        show_text(call, code_name(code));
        return true;
    }
    if (in.size > 0 && !str_equal(in, code))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(code, str_of(names[i][0]))) {
            show_text(call, names[i][1]);
            return true;
        }
    return false;
}
