/* The form of plain text: one table of layouts, made of sentences in several languages, and the forms that they have as
 * files of a usual length and as files that are too long to be a document. */
#include "pipeline/input/text_layout.h"
#include "tests/unit.h"

/* ------------------------------------------------------------------------------------------------- layouts */

static const char *const english[] = {
    "The ferry left an hour before the tide, and nobody on the quay could say why.",
    "It was cold.",
    "My aunt, who had packed for a week, sat on her trunk and looked at the place where it had been.",
    "“There will be another one,” said the man from the office, without much hope.",
    "In winter the island has forty people, two shops and a school with a single teacher.",
    "She nodded.",
    "We walked back along the wall, past the nets and the blue boats that were laid up until spring.",
};
static const char *const german[] = {
    "Der alte Gärtner hatte den Schlüssel am Abend unter den dritten Stein neben der Treppe gelegt.",
    "Am Morgen war er fort.",
    "Niemand im Haus wollte davon gewusst haben, und die Köchin fing zu weinen an.",
    "Im Keller fanden wir später eine Laterne, ein Stück Brot und die Karte eines fremden Landes.",
};
static const char *const russian[] = {
    "Поезд остановился посреди поля, и проводник вышел на снег, чтобы посмотреть, что случилось.",
    "Было тихо.",
    "Мальчик у окна считал столбы и думал о том, как далеко они ещё не доехали до города.",
    "Старуха напротив достала из корзины яблоко и молча протянула ему.",
};
static const char *const hindi[] = {
    "गाँव के बाहर एक पुराना कुआँ था, जिसके पास बच्चे शाम को खेलने आते थे।",
    "उस दिन कोई नहीं आया।",
    "दादी ने दरवाज़ा खोला और देर तक खेतों की ओर देखती रहीं, जैसे किसी की राह देख रही हों।",
};
static const char *const japanese[] = {
    "山の向こうから来た商人は、古い地図を一枚だけ持っていた。",
    "雨だった。",
    "宿の主人はそれを見て、しばらく何も言わずに灯りを近づけた。",
    "翌朝になると、二人の姿は村のどこにも見えなかった。",
};

#define LINES(list) (list), sizeof(list) / sizeof *(list)

struct language_text {
    const char *code;
    const char *const *sentences;
    size_t count;
    const char *between; /* sentences of a paragraph */
};
static const struct language_text languages[] = {
    {"en", LINES(english), " "}, {"de", LINES(german), " "},  {"ru", LINES(russian), " "},
    {"hi", LINES(hindi), " "},   {"ja", LINES(japanese), ""},
};

/* Paragraph number `n`: two to five sentences. */
static void add_paragraph(const struct language_text *text, size_t n, struct buf *out)
{
    for (size_t i = 0; i < 2 + n % 4; i++)
        buf_addf(out, "%s%s", i ? text->between : "", text->sentences[(n * 3 + i) % text->count]);
}

/* Breaks lines at `width` characters: at blanks, or, of Japanese, anywhere. */
static void add_wrapped(struct str text, size_t width, bool anywhere, const char *newline, struct buf *out)
{
    while (text.size > 0) {
        size_t at = 0, cut = 0, characters = 0;
        for (; at < text.size && characters <= width; at++) {
            const bool begins = ((unsigned char)text.data[at] & 0xC0) != 0x80;
            characters += begins;
            if (begins && characters <= width + 1 && (anywhere || text.data[at] == ' '))
                cut = at;
        }
        if (characters <= width || cut == 0)
            cut = text.size;
        buf_add(out, text.data, cut);
        buf_add_text(out, newline);
        while (cut < text.size && text.data[cut] == ' ')
            cut++;
        text = (struct str){text.data + cut, text.size - cut};
    }
}

enum made {
    MADE_WRAPPED,    /* paragraphs at a width, a blank line between */
    MADE_LONG,       /* a paragraph a line, a blank line between */
    MADE_CHAPTERS,   /* wrapped, with two blank lines before a title now and then */
    MADE_INDENTED,   /* a paragraph a line, begun by U+3000, no blank lines */
    MADE_SENTENCES,  /* Google's form: a sentence a line, a blank line after eight */
    MADE_DOCUMENTS,  /* a paragraph a line, four to a document, a blank line between */
    MADE_ONE_A_LINE, /* a paragraph a line, no blank lines */
};

static void make(enum made made, const struct language_text *text, size_t width, const char *newline, size_t paragraphs,
                 struct buf *out)
{
    SCOPED(buf_release) struct buf paragraph = {0};
    for (size_t n = 0; n < paragraphs; n++) {
        buf_reset(&paragraph);
        add_paragraph(text, n, &paragraph);
        if (made == MADE_CHAPTERS && n % 9 == 0)
            buf_addf(out, "%s%s%s%s%s%s", n ? newline : "", n ? newline : "", text->sentences[1], newline, newline,
                     newline);
        if (made == MADE_SENTENCES) {
            buf_addf(out, "%s%s%s", text->sentences[n % text->count], newline, n % 8 == 7 ? newline : "");
        } else if (made == MADE_WRAPPED || made == MADE_CHAPTERS) {
            add_wrapped(buf_str(&paragraph), width, text->between[0] == '\0', newline, out);
            buf_add_text(out, newline);
        } else {
            const bool blank = made == MADE_LONG || (made == MADE_DOCUMENTS && n % 4 == 3);
            buf_addf(out, "%s%s%s%s", made == MADE_INDENTED ? "　　" : "", buf_text(&paragraph), newline,
                     blank ? newline : "");
        }
    }
}

static const struct {
    enum made made;
    const char *name;
    enum text_form form, too_long; /* of a file, and of one that is too long */
    bool wrapped;
} layouts[] = {
    {MADE_WRAPPED, "wrapped", FORM_FILE, FORM_WRAPPED, true},
    {MADE_LONG, "long lines", FORM_FILE, FORM_PARAGRAPHS, false},
    {MADE_CHAPTERS, "chapters", FORM_FILE, FORM_SECTIONS, true},
    {MADE_INDENTED, "indented", FORM_FILE, FORM_LINES, false},
    {MADE_SENTENCES, "sentences", FORM_SENTENCES, FORM_SENTENCES, false},
    {MADE_DOCUMENTS, "documents", FORM_PARAGRAPHS, FORM_PARAGRAPHS, false},
    {MADE_ONE_A_LINE, "one a line", FORM_LINES, FORM_LINES, false},
};

static struct text_layout layout_of(struct str text, const char *language)
{
    struct text_layout layout;
    text_layout_read(text, true, language_find(str_of(language)), &layout);
    return layout;
}

TEST(every_layout_in_every_language)
{
    static const size_t widths[] = {60, 72, 100};
    static const char *const newlines[] = {"\n", "\r\n"};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (size_t l = 0; l < sizeof languages / sizeof *languages; l++)
            for (size_t k = 0; k < 3 * 2; k++) {
                SCOPED(buf_release) struct buf text = {0};
                const bool broken = layouts[i].wrapped;
                /* 30 ideographs are as wide as 60 letters */
                const size_t width = languages[l].between[0] ? widths[k % 3] : widths[k % 3] / 2;
                if (!broken && k % 3 > 0)
                    continue;
                make(layouts[i].made, &languages[l], width, newlines[k / 3], 40, &text);
                const struct text_layout layout = layout_of(buf_str(&text), languages[l].code);
                const enum text_form form = text_layout_form(&layout, false),
                                     long_form = text_layout_form(&layout, true);
                if (form != layouts[i].form || long_form != layouts[i].too_long ||
                    text_layout_is_wrapped(&layout) != broken)
                    fail_msg("%s, %s, %zu characters: form %d instead of %d, too long %d instead of %d, wrapped %d",
                             layouts[i].name, languages[l].code, width, (int)form, (int)layouts[i].form, (int)long_form,
                             (int)layouts[i].too_long, text_layout_is_wrapped(&layout));
            }
}

/* --------------------------------------------------------------------------------------------- single texts */

static const struct {
    const char *name, *language;
    enum text_form form;
    const char *text;
} texts[] = {
    {"verse", "en", FORM_FILE,
     "I kept a lamp beside the door,\nAnd trimmed it every night;\nThe sea had taken three before,\nAnd wanted more "
     "light.\n\nThe first was young, the second old,\nThe third I never knew;\nHe left a ring of foreign gold,\nA "
     "letter, and a shoe.\n"},
    {"blank verse of even lines", "en", FORM_FILE,
     "The harbour master closed his heavy book\nAnd counted, as he had for thirty years,\nThe lanterns on the wall, of "
     "which one failed;\nThen took his coat and went without a word\nTo where the boat was moored, to light it twice.\n"
     "\nNo one had asked him to. The town was asleep,\nAnd what it did not see it did not owe.\nHe rowed, and in the "
     "dark the water moved\nAs if a hand were under it, and pulled.\n"},
    {"verse without marks", "en", FORM_SENTENCES,
     "rain upon the slates\nrain upon the town\nnothing that it hates\nwill it let down\n\ngrey upon the bay\ngrey "
     "upon "
     "the hill\nall of it will stay\nall of it is still\n"},
    {"a play", "en", FORM_FILE,
     "MARTHA. You came by the back door. Did anyone see you?\n\nJON. No. Only the dog, and he was asleep.\n\nMARTHA. "
     "Then sit. There is soup. You look like a man who has walked.\n\n[He sits. A clock strikes.]\n\nJON. I have. From "
     "the ford. They took the horse.\n"},
    {"a dialogue in long lines", "en", FORM_FILE,
     "“You came by the back door,” she said. She did not turn round.\n\n“Yes.”\n\n“Did anyone see you? The dog, "
     "perhaps. He barks at everyone.”\n\n“No. He was asleep,” he said, and sat down at the table where the soup was. "
     "It "
     "was cold by now.\n\n“Eat,” she said. “Then we shall see what can be done.”\n"},
    {"tweets", "en", FORM_SENTENCES, /* of a file that ends within the beginning */
     "just landed, so tired\nwho else is watching this\nbest soup of my life!!\n@ana no way lol\nMonday again\n"},
    {"posts that end in addresses", "en", FORM_LINES,
     "So tired after that long flight home from the north https://t.co/a\nthe best soup of my whole life, and I mean "
     "it https://t.co/b\nand who else is watching this one again tonight #film\nmonday, and the lamp went out once "
     "more, thank you @ana\n"},
    {"wrapped lines with an address", "en", FORM_FILE,
     "The lamp that stands on the wall was lit every night, as the page\nhttps://example.org/lamp says, by a boy who "
     "came from the\nvillage and climbed the stair with a can of oil that he had to\nfill at https://example.org/oil "
     "before it was dark, and then he\nwent home again along the wall and through the field of rye.\n"},
    {"sentences under a title", "en", FORM_SENTENCES,
     "The lamp\nIt stands on the wall.\nIt was lit every night.\nIt is out now.\n\nThe boat\nIt was blue.\nIt "
     "sank.\nIt "
     "was never found.\n"},
    {"sentences after tokenization", "en", FORM_SENTENCES,
     "the lamp stands on the wall .\nit was lit every night by the same man .\nit is out now .\n\nthe boat was blue .\n"
     "it sank .\nnobody saw it go .\n"},
    {"articles with headings", "en", FORM_PARAGRAPHS,
     " \n = The lamp = \n \n The lamp stands on the wall . It was built in 1902 . \n It was lit every night until 1950 "
     ". "
     "Then it went out . \n \n = = Keepers = = \n \n There were three keepers . Two of them drowned . \n The third "
     "left "
     "in 1949 . He was never replaced . \n The lamp is a museum now . It opens in May . \n \n"},
    {"one paragraph", "en", FORM_LINES, "The lamp stands on the wall. It was lit every night."},
    {"one sentence", "en", FORM_SENTENCES, "The lamp stands on the wall."},
    {"sentences without blanks between words", "th", FORM_SENTENCES,
     "โคมไฟตั้งอยู่บนกำแพง\nมันถูกจุดทุกคืน\nตอนนี้มันดับแล้ว\n\nเรือลำนั้นสีฟ้า\nมันจมลงแล้ว\n"},
    {"Chinese paragraphs with indents and blank lines", "zh", FORM_FILE,
     "　　灯塔立在墙上。每天晚上都有人来点亮它。\n\n　　现在它熄灭了。没有人知道为什么。\n\n　　那条船是蓝色的。它沉没"
     "了。\n"},
};

TEST(single_texts)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct text_layout layout = layout_of(str_of(texts[i].text), texts[i].language);
        const enum text_form form = text_layout_form(&layout, false);
        if (form != texts[i].form)
            fail_msg("%s: form %d instead of %d", texts[i].name, (int)form, (int)texts[i].form);
    }
}

/* ------------------------------------------------------------------------------------------------- together */

TEST(files_are_judged_together)
{
    struct text_layout sum = {0}, layout;
    SCOPED(buf_release) struct buf book = {0};
    make(MADE_LONG, &languages[0], 0, "\n", 40, &book);
    /* A note of one sentence a line would be Google's form by itself. */
    layout = layout_of(STR("It was cold.\n\nShe nodded.\n"), "en");
    assert_int_equal(text_layout_form(&layout, false), FORM_SENTENCES);
    text_layout_add(&sum, &layout);
    layout = layout_of(buf_str(&book), "en");
    text_layout_add(&sum, &layout);
    assert_int_equal(text_layout_form(&sum, false), FORM_FILE);
    assert_int_equal(sum.files, 2);
    assert_int_equal(sum.documents[CUT_FILES], 2);
    assert_int_equal(sum.documents[CUT_BLOCKS], 42);
}

TEST(many_files_of_paragraphs_without_blank_lines)
{
    struct text_layout sum = {0};
    SCOPED(buf_release) struct buf text = {0};
    make(MADE_ONE_A_LINE, &languages[0], 0, "\n", 5, &text);
    struct text_layout layout = layout_of(buf_str(&text), "en");
    for (unsigned i = 1; i <= MANY_TEXT_FILES; i++) {
        text_layout_add(&sum, &layout);
        assert_int_equal(text_layout_form(&sum, false), i < MANY_TEXT_FILES ? FORM_LINES : FORM_FILE);
    }
    layout.whole = 0; /* a file that goes on is a shard of a corpus */
    text_layout_add(&sum, &layout);
    assert_int_equal(text_layout_form(&sum, false), FORM_LINES);
}

TEST(a_beginning_without_blank_lines_has_a_document_a_line)
{
    struct text_layout layout;
    const struct str text = STR("It was cold.\nShe nodded.\nWe walked back.\n");
    text_layout_read(text, true, language_english(), &layout);
    assert_int_equal(text_layout_form(&layout, false), FORM_SENTENCES);
    text_layout_read(text, false, language_english(), &layout);
    assert_int_equal(text_layout_form(&layout, false), FORM_LINES);
}

TEST(documents_are_counted_by_every_cut)
{
    SCOPED(buf_release) struct buf text = {0};
    buf_add_text(&text, "one two.\nthree.\n\nfour.\n\n\n\n");
    for (int i = 0; i < 100; i++)
        buf_add_text(&text, "word ");
    const struct text_layout layout = layout_of(buf_str(&text), "en");
    static const uint64_t documents[TEXT_CUTS] = {4, 3, 2, 1}, brief[TEXT_CUTS] = {3, 2, 1, 0};
    for (int cut = 0; cut < TEXT_CUTS; cut++) {
        assert_int_equal(layout.documents[cut], documents[cut]);
        assert_int_equal(layout.brief[cut], brief[cut]);
    }
    assert_int_equal(layout.words, 104);
}

TEST(nothing_has_a_form_too)
{
    const struct text_layout layout = layout_of(STR(""), "en");
    assert_int_equal(text_layout_form(&layout, false), FORM_SENTENCES);
    assert_int_equal(layout.documents[CUT_FILES], 0);
}
