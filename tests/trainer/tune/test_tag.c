/* Words with tags: files, windows of long sentences, and scores, whose numbers are those of seqeval 1.2 for the same
 * lists. */
#include "base/file.h"
#include "tests/unit.h"
#include "trainer/tune/corpus.h"
#include "trainer/tune/span_scores.h"

static struct error error;
static struct error *const err = &error;

/* ---- scores ---- */

#define TAGS_MAX 80
struct tags {
    char text[400];
    const char *list[TAGS_MAX];
    size_t count, ends[20], sentences;
};

/* Sentences between bars. */
static void take(struct tags *tags, const char *text)
{
    snprintf(tags->text, sizeof tags->text, "%s", text);
    tags->count = tags->sentences = 0;
    for (char *at = strtok(tags->text, " "); at; at = strtok(NULL, " "))
        if (strcmp(at, "|") == 0)
            tags->ends[tags->sentences++] = tags->count;
        else
            tags->list[tags->count++] = at;
    tags->ends[tags->sentences++] = tags->count;
}

static void expect_number(const json_t *scores, const char *key, double expected)
{
    const double value = json_number_value(json_object_get(scores, key));
    if (!(fabs(value - expected) <= 1e-12))
        fail_msg("%s is %.17g, not %.17g", key, value, expected);
}

TEST(spans_are_scored)
{
    struct tags truth, found;
    take(&truth, "L-A I-B | I-B L-A | U-C L-A O L-A | S-B | I-B I-A I-A | S-B I-B I-B S-B E-A U-C | "
                 "B-A I-A U-C B-A I-B E-A O | O B-A L-A O B-B O | B-B S-B L-A E-A E-A E-A L-A | B-A I-B O O | "
                 "S-B I-A | U-C E-A U-C");
    take(&found, "E-A I-B | I-B L-A | U-C L-A U-C O | L-A | B-A I-B L-A | S-B I-A L-A S-B E-A U-C | "
                 "S-B I-A E-A O I-B O O | O B-A L-A O B-B O | B-B S-B L-A E-A E-A E-A L-A | I-B I-B E-A O | "
                 "E-A L-A | O I-B U-C");
    json_auto_t *scores = span_scores(found.list, truth.list, truth.count, truth.ends, truth.sentences, true);
    expect_number(scores, "accuracy", 0.5957446808510638);
    expect_number(scores, "precision", 0.6060606060606061);
    expect_number(scores, "recall", 0.5714285714285714);
    expect_number(scores, "f1", 0.588235294117647);
    const json_t *types = json_object_get(scores, "per_type"), *b = json_object_get(types, "B");
    expect_number(json_object_get(types, "A"), "f1", 0.5294117647058824);
    expect_number(b, "precision", 0.6666666666666666);
    expect_number(b, "recall", 0.6153846153846154);
    expect_number(b, "support", 13);
    expect_number(json_object_get(types, "C"), "recall", 0.6);
    assert_true(span_tags(truth.list, truth.count));
    assert_false(span_tags((const char *const[]){"O", "NOUN"}, 2));
    assert_false(span_tags((const char *const[]){"B-"}, 1));
}

/* ---- files ---- */

/* Sentences as "line:word/tag word/tag;"; an error ends them as "!". */
static const char *read_all(const char *text, const char *column, bool wanted)
{
    static char out[2000], path[64];
    struct tagged t;
    size_t used = 0;
    int more;
    snprintf(path, sizeof path, "/tmp/tagged-%d", (int)getpid());
    assert_int_equal(file_write_all(path, text, strlen(text), err), 0);
    out[0] = '\0';
    more = tagged_open(&t, path, column, wanted, err) < 0 ? -1 : 1;
    while (more > 0 && (more = tagged_next(&t, err)) > 0) {
        used += (size_t)snprintf(out + used, sizeof out - used, "%d:", (int)t.line);
        for (size_t i = 0; i < t.word_count; i++)
            used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s/%.*s", i > 0 ? " " : "",
                                     (int)t.words[i].word.size, t.words[i].word.data, (int)t.words[i].tag.size,
                                     t.words[i].tag.data);
        used += (size_t)snprintf(out + used, sizeof out - used, ";");
    }
    snprintf(out + used, sizeof out - used, more < 0 ? "!" : "");
    tagged_close(&t);
    unlink(path);
    return out;
}

#define UD(id, form, upos) id "\t" form "\tlemma\t" upos "\tX\t_\t0\troot\t_\t_\n"

TEST(files_are_read)
{
    static const char ud[] = "# text = a\n" UD("1-2", "it's", "_") UD("1", "it", "PRON") UD("2", "'s", "AUX")
        UD("2.1", "e", "X") "\n# end\n";
    assert_string_equal(read_all("-DOCSTART- -X- O\n\nEU NNP B-ORG\nis  VB O\n\nx O", NULL, true),
                        "1:;3:EU/B-ORG is/O;6:x/O;");
    assert_string_equal(read_all("EU NNP B-ORG\r\n", "2", true), "1:EU/NNP;");
    assert_string_equal(read_all("# hash\nx O\n", NULL, true), "1:#/hash x/O;");
    assert_string_equal(read_all(ud, "UPOS", true), "1:it/PRON 's/AUX;7:;");
    assert_string_equal(read_all(ud, "xpos", false), "1:it/X 's/X;7:;");
    assert_string_equal(read_all(ud, NULL, true), "!");
    assert_non_null(strstr(error.hint, "--column UPOS"));
    assert_string_equal(
        read_all("{\"tokens\":[\"a\",\"b c\"],\"tags\":[\"O\",\"B-X\"]}\n\n{\"tokens\":[],\"tags\":[]}\n", NULL, true),
        "1:a/O b c/B-X;3:;");
    assert_string_equal(read_all("{\"tokens\":[\"a\"]}\n", NULL, false), "1:a/;");
    assert_string_equal(read_all("word\n", NULL, false), "1:word/;");
    assert_string_equal(read_all("a O\nword\n", NULL, true), "!");
    assert_non_null(strstr(error.text, "line 2 has 1 column"));
    assert_string_equal(read_all("{\"tokens\":[\"a\"],\"tags\":[]}\n", NULL, true), "!");
    assert_string_equal(read_all("a O\n", "seven", true), "!");
    assert_int_equal(error.kind, ERR_USAGE);
}
