/* The language is guessed from a few sentences, and from the cases of the splitter's tests; shorter text gives no
 * guess. */
#include "pipeline/text/words/guess.h"
#include "tests/unit.h"

TEST(the_language_is_guessed_from_a_few_sentences)
{
    static const struct {
        const char *code, *text; /* code NULL: no guess */
    } cases[] = {
        {"en",
         "The ship was built in the north of the country. It is the largest of its kind, and was sold to a firm."},
        {"de", "Das Schiff wurde im Norden des Landes gebaut. Es ist das größte und wurde an eine Firma verkauft."},
        {"fi", "Laiva on rakennettu maan pohjoisosassa, ja se oli suurin. Hän myi sen, mutta ei ollut iloinen, että "
               "niin kävi."},
        {"sv", "Fartyget byggdes i norra delen av landet och är det största. Det såldes till en firma som inte har det "
               "kvar."},
        {"fr", "Le navire est construit dans le nord du pays. Il est le plus grand et son prix ne se paie pas avec des "
               "mots."},
        {"ru", "Корабль был построен на севере страны. Он не так велик, как его брат, но это по нему не видно."},
        {"uk", "Корабель був збудований на півночі країни. Він не такий, як його брат, але це видно з того, що він є."},
        {"ja", "この船は国の北部で建造された。最大の船である。"},
        {"zh", "這艘船建造於該國北部，是同類船隻中最大的一艘。"},
        {"ko", "이 배는 나라의 북쪽에서 건조되었다. 가장 큰 배이다."},
        {"el", "Το πλοίο ναυπηγήθηκε στο βόρειο τμήμα της χώρας."},
        {"ar", "تم بناء السفينة في شمال البلاد وكان ذلك من أكبر السفن على البحر في هذا العام، كما أن هذه السفينة بيعت "
               "بعد عام إلى شركة."},
        {NULL, "One two three four."},
        {NULL, ""},
        {NULL, "1234 5678 9.10 !? 11"},
        {NULL,
         "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore magna"},
        {NULL, "Etusivu Etusivu Etusivu"},
        {NULL, "Han var en og den er på det som de har."}, /* Danish and Norwegian */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *code = language_guess(str_of(cases[i].text));
        if (!code != !cases[i].code || (code && strcmp(code, cases[i].code) != 0))
            fail_msg("%s instead of %s: %s", code ? code : "none", cases[i].code ? cases[i].code : "none",
                     cases[i].text);
    }
}

TEST(the_beginning_is_enough_and_is_all)
{
    SCOPED(buf_release) struct buf text = {0};
    while (text.size < 65 << 10)
        buf_add_text(&text, "Laiva on suuri ja se oli uusi, mutta hän ei ollut iloinen siitä, että niin kävi. ");
    while (text.size < 1 << 20)
        buf_add_text(&text, "The ship was built in the north of the country and sold to a firm in the south. ");
    assert_string_equal(language_guess(buf_str(&text)), "fi");
}
