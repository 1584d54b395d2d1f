/* What stands before a word in {{lang-en|word}}: "англ. word", "英語: word", on the Russian, Ukrainian, Polish and
 * Japanese wikis; on other wikis we show the word alone. The abbreviations are the usual ones of these languages; they
 * were not compared with the wikis' own templates. */
#include "pipeline/text/templates/call.h"

struct label {
    const char *code, *ru, *uk, *pl, *ja;
};

/* Sorted by code. */
static const struct label labels[] = {
    {"ar", "араб.", "араб.", "arab.", "アラビア語"},
    {"az", "азерб.", NULL, NULL, NULL},
    {"be", "белор.", "біл.", "biał.", NULL},
    {"bg", "болг.", "болг.", "bułg.", NULL},
    {"cs", "чеш.", NULL, "czes.", "チェコ語"},
    {"da", "дат.", NULL, NULL, "デンマーク語"},
    {"de", "нем.", "нім.", "niem.", "ドイツ語"},
    {"el", "греч.", "грец.", "gr.", "ギリシア語"},
    {"en", "англ.", "англ.", "ang.", "英語"},
    {"es", "исп.", "ісп.", "hiszp.", "スペイン語"},
    {"et", "эст.", NULL, NULL, NULL},
    {"fa", "перс.", "перс.", "pers.", "ペルシア語"},
    {"fi", "фин.", NULL, NULL, "フィンランド語"},
    {"fr", "фр.", "фр.", "fr.", "フランス語"},
    {"grc", "др.-греч.", "дав.-гр.", "gr.", "古代ギリシア語"},
    {"he", "ивр.", "івр.", "hebr.", "ヘブライ語"},
    {"hr", "хорв.", NULL, NULL, NULL},
    {"hu", "венг.", "угор.", "węg.", "ハンガリー語"},
    {"hy", "арм.", NULL, NULL, NULL},
    {"it", "итал.", "італ.", "wł.", "イタリア語"},
    {"ja", "яп.", "яп.", "jap.", NULL},
    {"ka", "груз.", NULL, NULL, NULL},
    {"kk", "каз.", NULL, NULL, NULL},
    {"ko", "кор.", NULL, NULL, "朝鮮語"},
    {"la", "лат.", "лат.", "łac.", "ラテン語"},
    {"lt", "лит.", NULL, NULL, NULL},
    {"lv", "латыш.", NULL, NULL, NULL},
    {"nl", "нидерл.", NULL, NULL, "オランダ語"},
    {"no", "норв.", NULL, NULL, "ノルウェー語"},
    {"pl", "польск.", "пол.", NULL, "ポーランド語"},
    {"pt", "порт.", "порт.", "port.", "ポルトガル語"},
    {"ro", "рум.", "рум.", NULL, "ルーマニア語"},
    {"ru", NULL, "рос.", "ros.", "ロシア語"},
    {"sr", "серб.", "серб.", NULL, NULL},
    {"sv", "швед.", "швед.", "szw.", "スウェーデン語"},
    {"tr", "тур.", "тур.", NULL, "トルコ語"},
    {"tt", "тат.", NULL, NULL, NULL},
    {"uk", "укр.", NULL, "ukr.", "ウクライナ語"},
    {"uz", "узб.", NULL, NULL, NULL},
    {"zh", "кит.", "кит.", NULL, "中国語"},
};

void show_language_label(struct call *call, struct str code)
{
    const struct str wiki = call->page->code;
    size_t low = 0, high = sizeof labels / sizeof *labels;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (str_compare(str_of(labels[middle].code), code) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct label *found = &labels[low];
    if (low == sizeof labels / sizeof *labels || !str_equal(str_of(found->code), code))
        return;
    const bool is_japanese = str_equal(wiki, STR("ja"));
    const char *label = is_japanese                  ? found->ja
                        : str_equal(wiki, STR("ru")) ? found->ru
                        : str_equal(wiki, STR("uk")) ? found->uk
                        : str_equal(wiki, STR("pl")) ? found->pl
                                                     : NULL;
    if (label) {
        show_text(call, label);
        show_text(call, is_japanese ? ": " : " ");
    }
}
