/* A script that only one language uses identifies it. Otherwise the most frequent words of each language are counted:
 * in prose they are at least a tenth of all words, and no other language reaches half as many. */
#include "pipeline/text/words/guess.h"

#include "pipeline/text/words/word_lists.h"

#include <stdint.h>
#include <utf8proc.h>

enum script { LATIN, CYRILLIC, ARABIC, HAN, KANA, HANGUL, GREEK, HEBREW, THAI, OTHER, SCRIPTS };

static const struct {
    uint32_t first, last;
    enum script script;
} ranges[] = {{'A', 'Z', LATIN},        {'a', 'z', LATIN},       {0xAA, 0x24F, LATIN},     {0x370, 0x3FF, GREEK},
              {0x400, 0x52F, CYRILLIC}, {0x590, 0x5FF, HEBREW},  {0x600, 0x6FF, ARABIC},   {0x750, 0x77F, ARABIC},
              {0x900, 0xDFF, OTHER},    {0xE00, 0xE7F, THAI},    {0xE80, 0x10FF, OTHER},   {0x1100, 0x11FF, HANGUL},
              {0x1200, 0x1DFF, OTHER},  {0x1E00, 0x1EFF, LATIN}, {0x3040, 0x30FF, KANA},   {0x3400, 0x9FFF, HAN},
              {0xAC00, 0xD7AF, HANGUL}, {0xF900, 0xFAFF, HAN},   {0xFB50, 0xFDFF, ARABIC}, {0xFE70, 0xFEFE, ARABIC},
              {0x20000, 0x3FFFF, HAN}};

/* Lower case. Includes neighbours of the languages in languages.c, so that these are not confused with them. */
static const struct candidate {
    const char *code;
    enum script script;
    struct words words;
} candidates[] = {
    {"en", LATIN,
     WORDS("the", "of", "and", "to", "in", "a", "is", "that", "was", "for", "it", "with", "as", "his", "on", "be", "at",
           "by", "he", "this", "are", "from", "which", "not", "you", "have", "had", "they", "we", "i")},
    {"de", LATIN,
     WORDS("der", "die", "und", "in", "den", "von", "zu", "das", "mit", "sich", "des", "auf", "für", "ist", "im", "dem",
           "nicht", "ein", "eine", "als", "auch", "es", "an", "er", "wurde", "sie", "wird", "bei", "ich", "war")},
    {"es", LATIN,
     WORDS("de", "la", "que", "el", "en", "y", "a", "los", "del", "se", "las", "por", "un", "para", "con", "no", "una",
           "su", "al", "es", "lo", "como", "más", "pero", "fue", "sus", "le", "ya", "o", "este")},
    {"fr", LATIN,
     WORDS("de", "la", "le", "et", "les", "des", "en", "un", "du", "une", "est", "que", "dans", "qui", "par", "pour",
           "au", "il", "sur", "pas", "plus", "ne", "se", "avec", "son", "ce", "sont", "à", "je", "elle")},
    {"it", LATIN,
     WORDS("di", "e", "il", "la", "che", "a", "in", "un", "è", "per", "del", "non", "con", "si", "da", "le", "dei",
           "al", "nel", "una", "alla", "della", "come", "sono", "i", "lo", "più", "anche", "ma", "gli")},
    {"nl", LATIN,
     WORDS("de", "van", "het", "een", "en", "in", "is", "dat", "op", "te", "zijn", "voor", "met", "die", "niet", "aan",
           "er", "om", "ook", "als", "bij", "door", "maar", "uit", "naar", "werd", "ik", "was", "hij", "deze")},
    {"pl", LATIN,
     WORDS("w", "i", "na", "z", "się", "do", "nie", "że", "to", "jest", "o", "jak", "po", "przez", "od", "dla", "ale",
           "są", "był", "oraz", "za", "a", "przy", "tym", "jego", "co", "ich", "tego", "tak", "było")},
    {"pt", LATIN,
     WORDS("de", "a", "o", "que", "e", "do", "da", "em", "um", "para", "é", "com", "não", "uma", "os", "no", "se", "na",
           "por", "mais", "as", "dos", "como", "mas", "foi", "ao", "ele", "das", "seu", "pelo")},
    {"sv", LATIN,
     WORDS("och", "i", "att", "en", "som", "är", "det", "av", "på", "för", "med", "till", "den", "har", "de", "inte",
           "om", "ett", "han", "var", "från", "jag", "sig", "vid", "så", "eller", "men", "även", "efter", "kan")},
    {"af", LATIN,
     WORDS("die", "van", "en", "in", "is", "het", "wat", "nie", "te", "met", "vir", "deur", "hy", "dat", "aan", "word",
           "sy", "ook", "om", "as")},
    {"ca", LATIN,
     WORDS("de", "la", "i", "el", "que", "a", "en", "un", "del", "per", "les", "amb", "una", "és", "no", "es", "els",
           "al", "com", "dels", "va", "més", "són", "però", "seva")},
    {"cs", LATIN,
     WORDS("a", "se", "v", "na", "je", "že", "o", "s", "z", "do", "i", "to", "za", "by", "jak", "ale", "jsou", "pro",
           "byl", "jako", "od", "po", "který", "nebo", "bylo")},
    {"da", LATIN,
     WORDS("og", "i", "at", "det", "er", "en", "til", "af", "på", "for", "med", "den", "som", "de", "ikke", "har", "et",
           "der", "blev", "fra", "også", "var", "han", "jeg", "efter")},
    {"et", LATIN,
     WORDS("ja", "on", "ei", "see", "et", "oli", "ta", "ka", "mis", "kui", "või", "ning", "aga", "selle", "kes", "olid",
           "oma", "ma", "siis", "nii")},
    {"fi", LATIN,
     WORDS("ja", "on", "ei", "se", "että", "oli", "hän", "ovat", "myös", "kun", "mutta", "joka", "tai", "jossa", "sekä",
           "kuin", "niin", "mukaan", "sen", "hänen", "jotka", "olivat", "ole", "minä", "vain")},
    {"hu", LATIN,
     WORDS("a", "az", "és", "hogy", "nem", "is", "egy", "volt", "meg", "ez", "de", "mint", "csak", "vagy", "már", "aki",
           "majd", "azt", "ki", "el")},
    {"id", LATIN,
     WORDS("yang", "dan", "di", "dengan", "untuk", "pada", "dari", "ini", "adalah", "dalam", "tidak", "itu", "oleh",
           "ke", "sebagai", "juga", "akan", "ia", "telah", "atau")},
    {"no", LATIN,
     WORDS("og", "i", "det", "er", "på", "som", "en", "til", "av", "for", "med", "at", "har", "den", "ikke", "et", "om",
           "var", "de", "fra", "ble", "han", "også", "jeg", "etter")},
    {"ro", LATIN,
     WORDS("și", "de", "în", "a", "la", "cu", "pe", "care", "nu", "este", "din", "un", "o", "că", "se", "mai", "ale",
           "sau", "fost", "pentru")},
    {"tr", LATIN,
     WORDS("ve", "bir", "bu", "da", "de", "için", "ile", "olarak", "olan", "çok", "daha", "ne", "gibi", "sonra", "o",
           "en", "kadar", "ise", "ancak", "değil")},
    {"vi", LATIN,
     WORDS("của", "và", "là", "có", "được", "trong", "cho", "không", "một", "các", "người", "với", "này", "đã", "những",
           "ở", "khi", "năm", "từ", "về")},
    {"ru", CYRILLIC,
     WORDS("и", "в", "не", "на", "что", "с", "он", "как", "по", "это", "из", "у", "к", "но", "за", "от", "так", "же",
           "был", "его", "а", "для", "она", "они", "я")},
    {"uk", CYRILLIC,
     WORDS("і", "в", "на", "що", "не", "з", "та", "до", "є", "як", "у", "від", "за", "це", "він", "його", "й", "для",
           "але", "про")},
    {"bg", CYRILLIC,
     WORDS("и", "на", "в", "да", "се", "от", "за", "че", "не", "с", "е", "са", "по", "като", "през", "до", "си", "или",
           "който", "това")},
    {"sr", CYRILLIC,
     WORDS("и", "у", "је", "на", "се", "да", "за", "од", "са", "су", "не", "као", "који", "што", "али", "био", "до",
           "из", "то", "била")},
    {"ar", ARABIC,
     WORDS("في", "من", "على", "إلى", "أن", "عن", "التي", "الذي", "هذا", "كان", "مع", "هذه", "أو", "بعد", "كما", "لا",
           "ما", "هو", "بين", "ذلك")},
    {"fa", ARABIC,
     WORDS("و", "در", "به", "از", "که", "این", "را", "با", "است", "برای", "آن", "یک", "شد", "بود", "می", "نیز", "خود",
           "بر", "تا", "هم")},
    {"ur", ARABIC,
     WORDS("کے", "کی", "میں", "کا", "ہے", "سے", "اور", "کو", "نے", "پر", "ہیں", "یہ", "اس", "تھا", "ایک", "کہ", "بھی",
           "جو", "گیا", "تو")},
};
#define CANDIDATES (sizeof candidates / sizeof *candidates)

#define GUESS_BYTES (64u << 10) /* bytes examined */
#define HITS_MIN    4u
#define HITS_SHARE  16u /* the least share of the words: one in this many */

struct counting {
    uint64_t letters[SCRIPTS], words;
    uint32_t hits[CANDIDATES];
};

static enum script script_of(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code_point >= ranges[i].first && code_point <= ranges[i].last)
            return ranges[i].script;
    return SCRIPTS;
}

static void count_word(struct counting *counting, struct str word)
{
    counting->words++;
    for (size_t i = 0; i < CANDIDATES; i++)
        for (size_t k = 0; k < candidates[i].words.count; k++)
            if (str_equal(word, str_of(candidates[i].words.items[k]))) {
                counting->hits[i]++;
                break;
            }
}

static bool is_letter(uint32_t code_point)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code_point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME;
}

static void count_text(struct counting *counting, struct str text)
{
    enum { WORD_BYTES_MAX = 24 }; /* a longer word is not among the most frequent */
    char word[WORD_BYTES_MAX];
    size_t size = 0;
    for (size_t at = 0; at <= text.size;) {
        uint32_t code_point = ' ';
        unsigned skip = 1, length = 1;
        if (at < text.size)
            length = utf8_decode(text.data + at, text.size - at, &code_point, &skip);
        at += length ? length : skip;
        if (!length || !is_letter(code_point)) {
            if (size > 0)
                count_word(counting, (struct str){word, size < WORD_BYTES_MAX ? size : 0});
            size = 0;
            continue;
        }
        const enum script script = script_of(code_point);
        if (script < SCRIPTS)
            counting->letters[script]++;
        if (size + 4 < WORD_BYTES_MAX)
            size += utf8_write((uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point), word + size);
        else
            size = WORD_BYTES_MAX;
    }
}

/* The script of more than half of all letters; kana among ideographs count as Japanese. */
static enum script main_script(const uint64_t letters[SCRIPTS])
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SCRIPTS; i++)
        sum += letters[i];
    if (2 * (letters[HAN] + letters[KANA]) > sum)
        return 10 * letters[KANA] > letters[HAN] + letters[KANA] ? KANA : HAN;
    for (size_t i = 0; i < SCRIPTS; i++)
        if (2 * letters[i] > sum)
            return (enum script)i;
    return OTHER;
}

static const char *const by_script[SCRIPTS] = {
    [HAN] = "zh", [KANA] = "ja", [HANGUL] = "ko", [GREEK] = "el", [HEBREW] = "he", [THAI] = "th"};

bool language_is_guessed(struct str code)
{
    bool found = false;
    for (size_t i = 0; i < SCRIPTS; i++)
        found |= by_script[i] && str_equal(code, str_of(by_script[i]));
    for (size_t i = 0; i < CANDIDATES; i++)
        found |= str_equal(code, str_of(candidates[i].code));
    return found;
}

const char *language_guess(struct str text)
{
    struct counting counting = {0};
    if (text.size > GUESS_BYTES)
        text.size = GUESS_BYTES;
    count_text(&counting, text);
    const enum script script = main_script(counting.letters);
    if (by_script[script])
        return counting.letters[HAN] + counting.letters[KANA] + counting.letters[script] > 10 ? by_script[script]
                                                                                              : NULL;
    uint32_t best = 0, second = 0;
    size_t first = 0;
    for (size_t i = 0; i < CANDIDATES; i++) {
        if (candidates[i].script != script)
            continue;
        if (counting.hits[i] > best) {
            second = best;
            best = counting.hits[i];
            first = i;
        } else if (counting.hits[i] > second) {
            second = counting.hits[i];
        }
    }
    const bool clear = best >= HITS_MIN && (uint64_t)best * HITS_SHARE >= counting.words && 2 * best >= 3 * second;
    return clear ? candidates[first].code : NULL;
}
