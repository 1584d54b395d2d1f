/* What stands before a word in {{lang-en|word}}: "англ. word", "英語: word", on the Russian, Ukrainian, Polish and
 * Japanese wikis; on other wikis we show the word alone. The abbreviations are the usual ones of these languages; they
 * were not compared with the wikis' own templates. */
#include "pipeline/text/templates/call.h"

void show_language_label(struct call *call, struct str code)
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
