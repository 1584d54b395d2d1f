/* The option table: what is accepted, what is refused and with which message, and the documents made from it. */
#include "tests/base/help.h"

#include "base/opts.h"

#include <locale.h>

struct settings {
    struct opt_paths wiki, text;
    const char *out, *lang;
    uint64_t threads, memory, every, limit;
    uint32_t mask, keep, keep_extract;
    uint64_t batch[2];
    uint32_t share[2];
    double lr;
    bool cased, quiet, json;
    int pairs, format, shape;
    struct opt_numbers seq;
    struct opt_count_or_time save;
};

#define FIELD(name) offsetof(struct settings, name)

static int run_nothing(void *settings, struct opt_paths bare, struct error *err)
{
    (void)settings;
    (void)bare;
    (void)err;
    return 0;
}

static struct opt_choice shape(size_t i)
{
    static const struct opt_choice shapes[] = {{"ball", "round", 7}, {"cube", NULL, -2}, {"cone", "round below", 3}};
    return i < COUNT(shapes) ? shapes[i] : (struct opt_choice){0};
}

#define OPTION(its_name, kind, at, ...)                                                                                \
    {                                                                                                                  \
        .name = its_name, .scope = SCOPE_PROCESS, .type = OPT_##kind, .field = FIELD(at), __VA_ARGS__                  \
    }

static const struct opt_row rows[] = {
    OPTION("wiki", PATHS, wiki, .value = "FILE", .verbs = " build ", .help = "a dump"),
    OPTION("text", PATHS, text, .value = "FILE", .verbs = " build ", .help = "plain text"),
    OPTION("out", TEXT, out, .letter = 'o', .value = "DIR", .help = "where the result goes",
           .default_help = "the first input's name without its extensions, in the current directory"),
    OPTION("lang", TEXT, lang, .value = "CODE", .default_text = "en", .help = "language"),
    OPTION("threads", COUNT, threads, .value = "N", .min = 1, .max = 1024, .default_help = "all cores",
           .help = "computing threads in all"),
    OPTION("limit", COUNT, limit, .value = "N", .verbs = " build ", .help = "stop after N pages"),
    OPTION(
        "memory", SIZE, memory, .value = "SIZE", .default_text = "1G", .min = 1 << 20,
        .help =
            "bound on resident memory; never changes a byte of what is written, and too little is refused by the plan"),
    OPTION("every", DURATION, every, .value = "TIME", .default_text = "30m", .help = "often"),
    OPTION("mask-prob", MILLIONTHS, mask, .value = "P", .default_text = "0.15", .help = "share"),
    OPTION("lr", REAL, lr, .value = "X", .default_text = "1e-4", .real_min = -1, .real_max = 10,
           .help = "learning rate"),
    OPTION("cased", FLAG, cased, .help = "keep case"),
    OPTION("quiet", FLAG, quiet, .letter = 'q', .help = "say less"),
    OPTION("json", FLAG, json, .help = "facts as JSON"),
    OPTION("pairs", CHOICE, pairs, .choices = "nsp|none", .default_text = "nsp", .help = "pairs"),
    OPTION("keep", SET, keep, .choices = "headings|lists|pre", .value = "LIST", .default_text = "lists",
           .verbs = " build ", .help = "what is kept"),
    OPTION("keep", SET, keep, .choices = "headings|lists|pre", .value = "LIST", .default_text = "headings,pre",
           .verbs = " extract ", .help = "what is kept"),
    OPTION("format", CHOICE, format, .choices = "jsonl|sentences", .default_text = "sentences", .verbs = " extract ",
           .help = "how it is printed"),
    OPTION("shape", CHOICE, shape, .choice = shape, .default_text = "ball", .verbs = " extract ", .help = "its form."),
    OPTION("batch", COUNT, batch, .ramp = true, .value = "N|A:B", .default_text = "256", .min = 1, .max = 1000,
           .verbs = " extract ", .help = "how many"),
    OPTION("share", MILLIONTHS, share, .ramp = true, .value = "P|P:Q", .verbs = " extract ", .help = "how much"),
    OPTION("seq", NUMBERS, seq, .value = "LIST", .default_text = "128,512", .min = 16, .max = 4096,
           .help = "sequence lengths"),
    OPTION("save-every", COUNT_OR_TIME, save, .value = "N|DURATION", .default_text = "30m",
           .help = "how often -- .dot 'quote \\ backslash"),
    {.name = NULL},
};

static const struct opt_verb verbs[] = {
    {.name = "build",
     .arguments = "FILE...",
     .help = "makes a dataset",
     .example = "prog build -o d dump.xml.bz2",
     .run = run_nothing,
     .bare_max = SIZE_MAX},
    {.name = "extract",
     .arguments = "FILE",
     .help = "prints text",
     .run = run_nothing,
     .bare_min = 1,
     .bare_max = 2,
     .group = "readers"},
    {.name = "verify", .arguments = "", .help = "reads every byte", .run = run_nothing, .group = "readers"},
    {.name = NULL},
};

static const struct opt_foreign foreign_verbs[] = {{"info", "extract"}, {NULL, NULL}};

static const struct opt_foreign foreign[] = {
    {"max_steps", "--limit"}, {"learning_rate", "--lr"}, {"do-lower-case", "without --cased"}, {NULL, NULL}};

static const struct opt_program program = {
    .name = "prog",
    .summary = "turns things into other things",
    .verbs = verbs,
    .rows = rows,
    .foreign = foreign,
    .foreign_verbs = foreign_verbs,
    .version = "prog 1.2.3",
};

static struct opt_program with_default;

#define ARGS_MAX 48

/* Splits a line at blanks ('' is an empty argument) and parses it. */
struct run {
    char line[400];
    char *argv[ARGS_MAX];
    int argc, code;
    struct settings settings;
    struct opt_result result;
    struct error err;
};

static void split(struct run *run, const char *line)
{
    *run = (struct run){.code = -2};
    snprintf(run->line, sizeof(run->line), "prog %s", line);
    for (char *word = strtok(run->line, " "); word && run->argc < ARGS_MAX; word = strtok(NULL, " "))
        run->argv[run->argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
}

static void parse(struct run *run, const char *line)
{
    split(run, line);
    memset(&run->settings, 0xAA, sizeof(run->settings));
    run->code = opts_parse(&program, run->argc, run->argv, &run->settings, &run->result, &run->err);
}

static void release(struct run *run)
{
    opts_release(&program, &run->settings, &run->result);
    opts_release(&program, &run->settings, &run->result);
}

static void parse_well(struct run *run, const char *line)
{
    parse(run, line);
    if (run->code < 0)
        fail_msg("%s: %s (%s)", line, run->err.text, run->err.hint);
}

/* Each path follows its option; an argument without an option belongs to the verb. */
TEST(paths_may_come_one_by_one)
{
    static const struct opt_row each[] = {{.name = "wiki",
                                           .type = OPT_PATHS,
                                           .scope = SCOPE_PROCESS,
                                           .each = true,
                                           .field = FIELD(wiki),
                                           .value = "DIR[=WEIGHT]",
                                           .help = "a dataset"},
                                          {.name = NULL}};
    struct opt_program one_by_one = program;
    struct run run;
    one_by_one.rows = each;
    split(&run, "extract --wiki a=1 FILE --wiki=b=2");
    assert_int_equal(opts_parse(&one_by_one, run.argc, run.argv, &run.settings, &run.result, &run.err), 0);
    assert_int_equal(run.settings.wiki.count, 2);
    assert_string_equal(run.settings.wiki.items[0], "a=1");
    assert_string_equal(run.settings.wiki.items[1], "b=2");
    assert_int_equal(run.result.bare.count, 1);
    assert_string_equal(run.result.bare.items[0], "FILE");
    size_t at = 0;
    assert_null(opts_repeated(&one_by_one, &run.result, &at));
    opts_release(&one_by_one, &run.settings, &run.result);
}

static int parse_with_row(struct run *run, enum opt_scope scope, const char *of_row)
{
    const struct opt_row flag[] = {{.name = "cased",
                                    .type = OPT_FLAG,
                                    .scope = scope,
                                    .field = FIELD(cased),
                                    .verbs = of_row,
                                    .help = "keep case"},
                                   {.name = NULL}};
    struct opt_program other = program;
    other.rows = flag;
    split(run, "verify");
    const int code = opts_parse(&other, run->argc, run->argv, &run->settings, &run->result, &run->err);
    opts_release(&other, &run->settings, &run->result);
    return code;
}

/* Even if the command line is of another verb. */
TEST(a_row_for_no_verb_is_a_bug)
{
    static const char *const right[] = {NULL, "", " build ", " extract build "};
    static const char *const wrong[] = {" biuld ",         " build extrac ", "build ",   " build",  "build",
                                        " build  verify ", " buil ",         " builds ", "-build ", " build verify-"};
    struct run run;
    for (size_t i = 0; i < COUNT(right); i++)
        assert_int_equal(parse_with_row(&run, SCOPE_RUN, right[i]), 0);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        if (parse_with_row(&run, SCOPE_RUN, wrong[i]) == 0)
            fail_msg("a row for \"%s\" is taken", wrong[i]);
        assert_int_equal(run.err.kind, ERR_BUG);
        assert_non_null(strstr(run.err.text, "--cased"));
        assert_non_null(strstr(run.err.text, wrong[i]));
    }
}

TEST(a_row_without_a_scope_is_a_bug)
{
    struct run run;
    assert_int_equal(parse_with_row(&run, SCOPE_UNDECIDED, NULL), -1);
    assert_int_equal(run.err.kind, ERR_BUG);
    assert_non_null(strstr(run.err.text, "--cased"));
    assert_non_null(strstr(run.err.text, "scope"));
}

TEST(defaults_are_set)
{
    struct run run;
    parse_well(&run, "build");
    const struct settings *set = &run.settings;
    assert_string_equal(run.result.verb->name, "build");
    assert_int_equal(set->wiki.count, 0);
    assert_null(set->out);
    assert_string_equal(set->lang, "en");
    assert_int_equal(set->threads, 0);
    assert_int_equal(set->memory, 1 << 30);
    assert_int_equal(set->every, 1800);
    assert_int_equal(set->mask, 150000);
    assert_true(set->lr > 0.99e-4 && set->lr < 1.01e-4);
    assert_false(set->cased);
    assert_int_equal(set->pairs, 0);
    assert_int_equal(set->keep, 2);
    assert_int_equal(set->format, 1);
    assert_int_equal(set->seq.count, 2);
    assert_int_equal(set->seq.values[1], 512);
    assert_int_equal(set->save.seconds, 1800);
    assert_false(opts_given(&program, &run.result, "lang"));
    assert_false(opts_given(&program, &run.result, "format"));
    release(&run);
    parse_well(&run, "build --seq 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31");
    assert_int_equal(run.settings.seq.count, OPT_NUMBERS_MAX);
    assert_int_equal(run.settings.seq.values[OPT_NUMBERS_MAX - 1], 31);
    release(&run);
    parse_well(&run, "extract a");
    assert_int_equal(run.settings.keep, 5); /* one option name, two rows of the table */
    release(&run);
}

TEST(values_are_read)
{
    struct run run;
    parse_well(&run,
               "build -o dir --lang=de --threads 8 --memory=2048K --memory 3M --every 2d --mask-prob .5 --lr=-1e-1 "
               "--cased -q --pairs none --keep headings,pre --seq 16 --save-every 500");
    const struct settings *set = &run.settings;
    assert_string_equal(set->out, "dir");
    assert_string_equal(set->lang, "de");
    assert_int_equal(set->threads, 8);
    assert_int_equal(set->memory, 3 << 20);
    assert_int_equal(set->every, 2 * 86400);
    assert_int_equal(set->mask, 500000);
    assert_true(set->lr < -0.099 && set->lr > -0.101);
    assert_true(set->cased && set->quiet && !set->json);
    assert_int_equal(set->pairs, 1);
    assert_int_equal(set->keep, 5);
    assert_int_equal(set->seq.count, 1);
    assert_int_equal(set->save.count, 500);
    assert_int_equal(set->save.seconds, 0);
    assert_true(opts_given(&program, &run.result, "out") && opts_given(&program, &run.result, "quiet"));
    assert_false(opts_given(&program, &run.result, "json"));
    release(&run);
    parse_well(&run, "build --keep none --lr -0.5 --save-every 90s --out -");
    assert_int_equal(run.settings.keep, 0);
    assert_true(run.settings.lr < -0.49);
    assert_int_equal(run.settings.save.seconds, 90);
    assert_string_equal(run.settings.out, "-");
    release(&run);
    parse_well(&run, "build --keep= --keep ''");
    assert_int_equal(run.settings.keep, 0);
    release(&run);
}

static void expect_paths(struct opt_paths paths, const char *joined)
{
    SCOPED(buf_release) struct buf all = {0};
    for (size_t i = 0; i < paths.count; i++)
        buf_addf(&all, "%s%s", i ? " " : "", paths.items[i]);
    assert_string_equal(buf_text(&all), joined);
}

TEST(bare_arguments_belong_to_the_paths_before_them)
{
    struct run run;
    parse_well(&run, "build x --wiki a b - --cased y --text=c d --wiki e --lang de z -- --odd -q");
    expect_paths(run.settings.wiki, "a b - e");
    expect_paths(run.settings.text, "c d");
    expect_paths(run.result.bare, "x y z --odd -q");
    assert_false(run.settings.quiet);
    release(&run);
    assert_int_equal(run.result.bare.count, 0);
    parse_well(&run, "build --wiki a -- b");
    expect_paths(run.settings.wiki, "a");
    expect_paths(run.result.bare, "b");
    release(&run);
}

/* The least and the most value are taken, and read back; what lies next to them is refused. */
TEST(values_are_taken_up_to_their_bounds)
{
    static const struct {
        const char *option, *verb;
        double least, most, next;
    } cases[] = {{"threads", "build", 1, 1024, 1},       {"batch", "extract x", 1, 1000, 1},
                 {"seq", "build", 16, 4096, 1},          {"memory", "build", 1 << 20, 0, 1},
                 {"mask-prob", "build", 0, 1, 0.000001}, {"share", "extract x", 0, 1, 0.000001},
                 {"lr", "build", -1, 10, 0.001}};
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int side = 0; side < 4; side++) {
            const double bound = side < 2 ? cases[i].least : cases[i].most, next = side < 2 ? -1 : 1;
            const bool outside = side % 2;
            char line[80], typed[32];
            struct run run;
            if ((side >= 2 && bound == 0) || (outside && bound == 0))
                continue;
            snprintf(typed, sizeof typed, "%.10g", bound + outside * next * cases[i].next);
            snprintf(line, sizeof line, "%s --%s=%s", cases[i].verb, cases[i].option, typed);
            parse(&run, line);
            if ((run.code == 0) == outside)
                fail_msg("%s: %s", line, run.code == 0 ? "is taken" : run.err.text);
            if (run.code == 0) {
                json_auto_t *options = opts_json(&program, run.result.verb, &run.settings);
                const char *text = json_string_value(json_object_get(options, cases[i].option));
                assert_true(strtod(text, NULL) == strtod(typed, NULL));
                release(&run);
            }
        }
}

/* "-5" and "-.5" are arguments, "-x" is an option. */
TEST(a_number_may_begin_with_a_sign)
{
    for (int byte = '!'; byte < 127; byte += byte == 'g' ? 2 : 1) /* -h prints */
        for (int point = 0; point < 2; point++) {
            const char word[] = {'-', point ? '.' : (char)byte, point ? (char)byte : '\0', '\0'};
            char line[80];
            struct run run;
            snprintf(line, sizeof line, "extract %s", word);
            parse(&run, line);
            const bool digit = byte >= '0' && byte <= '9';
            if (digit != (run.code == 0 && run.result.bare.count == 1 && strcmp(run.result.bare.items[0], word) == 0))
                fail_msg("%s: %s", line, run.code == 0 ? "is taken" : run.err.text);
            if (run.code == 0)
                release(&run);
        }
}

/* Half to even at the seventh place, exact, however long the number. */
TEST(millionths_are_rounded_half_to_even)
{
    static const struct {
        const char *text;
        uint32_t value;
    } cases[] = {{"0", 0},
                 {"1", 1000000},
                 {"1.000000000", 1000000},
                 {"0.0000005", 0},
                 {"0.0000015", 2},
                 {"0.0000025", 2},
                 {"0.00000250000000000000000000001", 3},
                 {"0.0000024999999999999999999", 2},
                 {"0.9999995", 1000000},
                 {"0.9999994", 999999},
                 {"00.15", 150000},
                 {"1.", 1000000},
                 {".000001", 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char line[80];
        struct run run;
        snprintf(line, sizeof(line), "build --mask-prob %s", cases[i].text);
        parse_well(&run, line);
        assert_int_equal(run.settings.mask, cases[i].value);
        release(&run);
    }
}

/* One number is both the beginning and the end. */
TEST(a_ramp_is_one_number_or_two)
{
    static const struct {
        const char *line, *batch, *share;
    } cases[] = {
        {"extract x", "256", "0"},
        {"extract --batch 64:256 --share .3:0.15 x", "64:256", "0.3:0.15"},
        {"extract --batch 8 --batch 9 --share 1 x", "9", "1"},
        {"extract --batch 5:5 --share 0.1:0.1 x", "5", "0.1"},
    };
    struct run run;
    for (size_t i = 0; i < COUNT(cases); i++) {
        parse_well(&run, cases[i].line);
        json_auto_t *options = opts_json(&program, run.result.verb, &run.settings);
        assert_string_equal(json_string_value(json_object_get(options, "batch")), cases[i].batch);
        assert_string_equal(json_string_value(json_object_get(options, "share")), cases[i].share);
        release(&run);
    }
    parse_well(&run, "extract --batch 64:256 --share .3:0.15 x");
    assert_true(run.settings.batch[0] == 64 && run.settings.batch[1] == 256);
    assert_true(run.settings.share[0] == 300000 && run.settings.share[1] == 150000);
    release(&run);
}

TEST(what_is_wrong_is_said)
{
    static const struct {
        const char *line, *text, *hint;
    } cases[] = {
        {"biuld", "unknown verb biuld", "did you mean build?"},
        {"frobnicate", "unknown verb frobnicate", "prog --help lists the verbs"},
        {"--cased build", "a verb must come before --cased", "prog --help lists the verbs"},
        {"--verison", "a verb must come before --verison", "did you mean --version?"},
        {"info x", "unknown verb info; ours is extract", ""},
        {"build --maks-prob 1", "unknown option --maks-prob", "did you mean --mask-prob?"},
        {"build --mask_prob=1", "unknown option --mask_prob", "did you mean --mask-prob?"},
        {"build --mask 1", "unknown option --mask", "did you mean --mask-prob?"},
        {"build --thread 1", "unknown option --thread", "did you mean --threads?"},
        {"build --max_steps=9", "unknown option --max_steps; ours is --limit", ""},
        {"build --max-steps 9", "unknown option --max-steps; ours is --limit", ""},
        {"build --do_lower_case", "unknown option --do_lower_case; ours is without --cased", ""},
        {"build --zzzzzz", "unknown option --zzzzzz", "prog build --help lists the options"},
        {"build --pairs nps", "--pairs: \"nps\" is none of nsp, none", ""},
        {"build --pairs", "--pairs needs a value: nsp|none", ""},
        {"build --format jsonl", "build has no option --format", "it belongs to: extract"},
        {"extract --batch 0 x", "--batch: 0 is too small, the least is 1", ""},
        {"extract --batch 3:1001 x", "--batch: 1001 is too large, the most is 1000", ""},
        {"extract --batch 3: x", "--batch: \"\" is not a whole number", ""},
        {"extract --batch :3 x", "--batch: \"\" is not a whole number", ""},
        {"extract --batch 3:4:5 x", "--batch: \"4:5\" is not a whole number", ""},
        {"extract --share 0.1:2 x", "--share: \"2\" is not a decimal number from 0 to 1", ""},
        {"build -x", "unknown option -x", NULL},
        {"build -qq", "unknown option -qq", NULL},
        {"build -out d", "unknown option -out", "did you mean --out?"},
        {"build --out", "--out needs a value: DIR", ""},
        {"build --out --cased", "--out needs a value: DIR", ""},
        {"build --out=", "--out: the value is empty", ""},
        {"build --wiki ''", "--wiki: the value is empty", ""},
        {"build --wiki -- a", "--wiki needs a value: FILE...", ""},
        {"build --cased=yes", "--cased takes no value", ""},
        {"build --threads 0", "--threads: 0 is too small, the least is 1", ""},
        {"build --threads 1025", "--threads: 1025 is too large, the most is 1024", ""},
        {"build --threads 8K", "--threads: \"8K\" is not a whole number", ""},
        {"build --threads -1", "--threads: \"-1\" is not a whole number", ""},
        {"build --threads 0x8", "--threads: \"0x8\" is not a whole number", ""},
        {"build --threads ''", "--threads: \"\" is not a whole number", ""},
        {"build --threads 18446744073709551617", "--threads: 18446744073709551617 is too large, the most is 1024", ""},
        {"build --memory 1T", "--memory: \"1T\" is not a size such as 4096, 64K, 256M or 1G", ""},
        {"build --memory 17179869184G", "--memory: \"17179869184G\" is not a size such as 4096, 64K, 256M or 1G", ""},
        {"build --memory 1KB", "--memory: \"1KB\" is not a size such as 4096, 64K, 256M or 1G", ""},
        {"build --memory 4", "--memory: 4 is too small, the least is 1M", ""},
        {"build --every 30", "--every: \"30\" is not a duration such as 90s, 30m, 8h or 2d", ""},
        {"build --every 1.5h", "--every: \"1.5h\" is not a duration such as 90s, 30m, 8h or 2d", ""},
        {"build --mask-prob 1.0000001", "--mask-prob: \"1.0000001\" is not a decimal number from 0 to 1", ""},
        {"build --mask-prob 2", "--mask-prob: \"2\" is not a decimal number from 0 to 1", ""},
        {"build --mask-prob 4294967296", "--mask-prob: \"4294967296\" is not a decimal number from 0 to 1", ""},
        {"build --mask-prob 15%", "--mask-prob: \"15%\" is not a decimal number from 0 to 1", ""},
        {"build --mask-prob .", "--mask-prob: \".\" is not a decimal number from 0 to 1", ""},
        {"build --mask-prob 0,15", "--mask-prob: \"0,15\" is not a decimal number from 0 to 1", ""},
        {"build --lr 11", "--lr: 11 is not within -1 to 10", ""},
        {"build --lr nan", "--lr: \"nan\" is not a number", ""},
        {"build --lr 1e999", "--lr: \"1e999\" is not a number", ""},
        {"build --lr 0x1p3", "--lr: \"0x1p3\" is not a number", ""},
        {"build --lr 1,5", "--lr: \"1,5\" is not a number", ""},
        {"build --lr e", "--lr: \"e\" is not a number", ""},
        {"build --keep lists,,pre", "--keep: \"\" is none of headings, lists, pre", ""},
        {"build --keep lists,tables", "--keep: \"tables\" is none of headings, lists, pre", ""},
        {"build --seq 128,8", "--seq: 8 is too small, the least is 16", ""},
        {"build --seq 128,", "--seq: \"\" is not a whole number", ""},
        {"build --seq 16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16,16", "--seq takes at most 16 numbers", ""},
        {"build --save-every 5x", "--save-every: \"5x\" is not a count or a duration such as 500, 90s, 30m or 8h", ""},
        {"extract", "extract needs FILE", ""},
        {"extract a b c", "one argument too many: \"c\"; extract takes FILE", ""},
        {"extract ''", "an argument is empty; extract takes FILE", ""},
        {"verify a", "unexpected argument \"a\": verify takes options only", ""},
        {"help biuld", "unknown verb biuld", "did you mean build?"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct run run;
        parse(&run, cases[i].line);
        if (run.code != -1 || run.err.kind != ERR_USAGE || strcmp(run.err.text, cases[i].text) != 0 ||
            (cases[i].hint && strcmp(run.err.hint, cases[i].hint) != 0))
            fail_msg("%s: \"%s\", hint \"%s\"", cases[i].line, run.err.text, run.err.hint);
        assert_null(run.result.verb);
        assert_null(run.result.bare.items);
    }
}

TEST(errors_while_paths_are_held_leak_nothing)
{
    struct run run;
    parse(&run, "build x y --wiki a b c --text d --bogus");
    assert_int_equal(run.code, -1);
    assert_null(run.settings.wiki.items);
}

TEST(a_group_stands_for_its_verbs)
{
    const struct opt_row row = {.verbs = " readers "}, alone = {.verbs = " extract "};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(opt_row_is_for(&row, &verbs[i]), i > 0);
    assert_false(opt_row_is_for(&alone, &verbs[2]));
    assert_true(opt_verb_takes(&program, "extract", "format"));
    assert_false(opt_verb_takes(&program, "verify", "format"));
    assert_false(opt_verb_takes(&program, "readers", "seq"));
}

TEST(a_locale_changes_nothing)
{
    struct run run;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"};
    for (size_t i = 0; i < COUNT(names) && !setlocale(LC_ALL, names[i]); i++)
        ;
    parse_well(&run, "build --lr 0.25");
    assert_true(run.settings.lr > 0.249 && run.settings.lr < 0.251);
    release(&run);
    setlocale(LC_ALL, "C");
}

TEST(json_is_known_before_parsing)
{
    struct run run;
    split(&run, "build --bogus --json x");
    assert_true(opts_typed(run.argc, run.argv, "json"));
    split(&run, "build --bogus -- --json x");
    assert_false(opts_typed(run.argc, run.argv, "json"));
}

static void expect_json(struct run *run, const char *expected)
{
    json_auto_t *options = opts_json(&program, run->result.verb, &run->settings);
    SCOPED(mem_free_at) char *text = json_dumps(options, JSON_COMPACT);
    assert_string_equal(text, expected);
    release(run);
}

TEST(settings_are_recorded)
{
    struct run run;
    parse_well(&run, "build --wiki a b --lr 0.1 --keep none --mask-prob 0.000010 --cased");
    expect_json(&run,
                "{\"wiki\":[\"a\",\"b\"],\"lang\":\"en\",\"threads\":\"0\",\"limit\":\"0\",\"memory\":\"1073741824\","
                "\"every\":\"1800s\",\"mask-prob\":\"0.00001\",\"lr\":\"0.1\",\"cased\":\"true\",\"quiet\":\"false\","
                "\"json\":\"false\",\"pairs\":\"nsp\",\"keep\":\"none\",\"seq\":\"128,512\",\"save-every\":\"1800s\"}");
}

/* Names hold any byte but 0. Bytes that are not UTF-8, which JSON cannot hold, become '?'. */
TEST(any_name_is_recorded)
{
    struct run run;
    parse_well(&run, "verify --out a=b\nlr=9\"\\ --lang \xFFx\xC3");
    json_auto_t *options = opts_json(&program, run.result.verb, &run.settings);
    assert_string_equal(json_string_value(json_object_get(options, "out")), "a=b\nlr=9\"\\");
    assert_string_equal(json_string_value(json_object_get(options, "lang")), "?x?");
    assert_string_equal(json_string_value(json_object_get(options, "lr")), "0.0001");
    release(&run);
}

/* The choices in a table: names, values in any order, their text in --help. */
TEST(choices_come_from_a_table)
{
    struct run run;
    SCOPED(buf_release) struct buf text = {0};
    parse_well(&run, "extract x");
    assert_int_equal(run.settings.shape, 7);
    release(&run);
    parse_well(&run, "extract --shape cube x");
    assert_int_equal(run.settings.shape, -2);
    json_auto_t *options = opts_json(&program, run.result.verb, &run.settings);
    assert_string_equal(json_string_value(json_object_get(options, "shape")), "cube");
    release(&run);
    parse(&run, "extract --shape");
    assert_string_equal(run.err.text, "--shape needs a value: ball|cube|cone");
    parse(&run, "extract --shape box");
    assert_string_equal(run.err.text, "--shape: \"box\" is none of ball, cube, cone");
    opts_man_page(&program, &text);
    assert_non_null(strstr(buf_text(&text), "its form. ball: round; cone: round below. [default: ball]"));
    buf_reset(&text);
    opts_completion(&program, &text);
    assert_non_null(strstr(buf_text(&text), "extract:--shape) words='ball cube cone' ;;"));
}

/* ---------------------------------------------------------------------------------- what is printed */

static void parse_and_leave(void *argument)
{
    struct run run;
    split(&run, argument);
    const int code = opts_parse(&program, run.argc, run.argv, &run.settings, &run.result, &run.err);
    _exit((fflush(NULL), code < 0 ? 2 : run.result.verb ? 1 : 0));
}

static const char build_help[] =
    "usage: prog build [options] FILE...\n"
    "\n"
    "makes a dataset\n"
    "\n"
    "options:\n"
    "      --wiki FILE...    a dump\n"
    "      --text FILE...    plain text\n"
    "  -o, --out DIR         where the result goes [default: the first input's name without its\n"
    "                        extensions, in the current directory]\n"
    "      --lang CODE       language [default: en]\n"
    "      --threads N       computing threads in all [default: all cores]\n"
    "      --limit N         stop after N pages\n"
    "      --memory SIZE     bound on resident memory; never changes a byte of what is written, and too\n"
    "                        little is refused by the plan [default: 1G]\n"
    "      --every TIME      often [default: 30m]\n"
    "      --mask-prob P     share [default: 0.15]\n"
    "      --lr X            learning rate [default: 1e-4]\n"
    "      --cased           keep case\n"
    "  -q, --quiet           say less\n"
    "      --json            facts as JSON\n"
    "      --pairs nsp|none  pairs [default: nsp]\n"
    "      --keep LIST       what is kept: headings, lists, pre [default: lists]\n"
    "      --seq LIST        sequence lengths [default: 128,512]\n"
    "      --save-every N|DURATION\n"
    "                        how often -- .dot 'quote \\ backslash [default: 30m]\n"
    "  -h, --help            Show this help.\n"
    "\n"
    "example:\n"
    "  prog build -o d dump.xml.bz2\n";

TEST(help_is_aligned_and_wrapped)
{
    static const char *const ways[] = {"build --help", "help build", "build -h", "build --cased x --help --bogus"};
    struct outcome seen;
    for (size_t i = 0; i < COUNT(ways); i++) {
        in_child(parse_and_leave, (void *)(uintptr_t)ways[i], &seen);
        assert_int_equal(seen.code, 0);
        assert_string_equal(seen.out, build_help);
        assert_string_equal(seen.err, "");
    }
    for (const char *line = build_help, *end; (end = strchr(line, '\n')); line = end + 1)
        assert_true(end - line <= 100);
}

static const char program_help[] =
    "usage: prog VERB [options] [arguments]\n"
    "\n"
    "turns things into other things\n"
    "\n"
    "verbs:\n"
    "  build    makes a dataset\n"
    "  extract  prints text\n"
    "  verify   reads every byte\n"
    "\n"
    "prog VERB --help shows the options of a verb; prog --version shows what was built.\n";

TEST(the_program_says_what_it_can)
{
    static const char *const ways[] = {"--help", "-h", "help"};
    struct outcome seen;
    for (size_t i = 0; i < COUNT(ways); i++) {
        in_child(parse_and_leave, (void *)(uintptr_t)ways[i], &seen);
        assert_int_equal(seen.code, 0);
        assert_string_equal(seen.out, program_help);
    }
    in_child(parse_and_leave, (void *)(uintptr_t) "", &seen);
    assert_int_equal(seen.code, 2);
    assert_string_equal(seen.out, "");
    assert_string_equal(seen.err, program_help);
    in_child(parse_and_leave, (void *)(uintptr_t) "--version", &seen);
    assert_int_equal(seen.code, 0);
    assert_string_equal(seen.out, "prog 1.2.3\n");
    in_child(parse_and_leave, (void *)(uintptr_t) "--man", &seen);
    assert_int_equal(seen.code, 0);
    assert_int_equal(strncmp(seen.out, ".TH PROG 1\n", 11), 0);
    in_child(parse_and_leave, (void *)(uintptr_t) "--completion", &seen);
    assert_int_equal(seen.code, 0);
    assert_int_equal(strncmp(seen.out, "# bash completion", 17), 0);
    in_child(parse_and_leave, (void *)(uintptr_t) "build --version", &seen);
    assert_string_equal(seen.out, "prog 1.2.3\n");
}

TEST(a_verb_may_be_left_out)
{
    struct run run;
    with_default = program;
    with_default.default_verb = "build";
    split(&run, "--cased x");
    assert_int_equal(opts_parse(&with_default, run.argc, run.argv, &run.settings, &run.result, &run.err), 0);
    assert_string_equal(run.result.verb->name, "build");
    assert_true(run.settings.cased);
    expect_paths(run.result.bare, "x");
    opts_release(&with_default, &run.settings, &run.result);
    split(&run, "x");
    assert_int_equal(opts_parse(&with_default, run.argc, run.argv, &run.settings, &run.result, &run.err), -1);
}

/* Runs a shell command on a document (or on nothing), keeps its output and returns its exit code. */
static int judge(const char *command, struct buf *text, char *said, size_t said_size)
{
    char line[300];
    snprintf(line, sizeof(line), "%s > base_opts.said 2>&1", command);
    FILE *pipe = popen(line, "w");
    if (text)
        fwrite(text->data, 1, text->size, pipe);
    const int status = pclose(pipe);
    FILE *file = fopen("base_opts.said", "r");
    slurp(file, said, said_size);
    remove("base_opts.said");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST(the_man_page_is_valid_roff)
{
    SCOPED(buf_release) struct buf text = {0};
    char said[20000];
    opts_man_page(&program, &text);
    assert_non_null(strstr(buf_text(&text), ".B \\-\\-mask\\-prob P\n"));
    assert_non_null(strstr(buf_text(&text), "\n.SS extract\n"));
    assert_non_null(strstr(buf_text(&text), "\n.SH EXAMPLES\n"));
    assert_non_null(strstr(buf_text(&text), "\n.SH ENVIRONMENT\n.TP\n.B NO_COLOR\n"));
    assert_null(strstr(buf_text(&text), ".SH FILES"));
    assert_non_null(strstr(buf_text(&text), "\\e backslash"));
    if (judge("command -v groff", NULL, said, sizeof(said)) == 0) {
        assert_int_equal(judge("groff -ww -man -Tascii -z", &text, said, sizeof(said)), 0);
        assert_string_equal(said, "");
        assert_int_equal(judge("groff -man -Tascii", &text, said, sizeof(said)), 0);
        assert_non_null(strstr(said, "sequence lengths [default: 128,512]"));
    }
}

/* Asserts what bash completes for `line`, whose last word is `word` and comes after the word `before`. */
static void expect_completion(struct buf *script, const char *line, const char *before, const char *word,
                              const char *expected)
{
    char said[4000];
    SCOPED(buf_release) struct buf text = {0};
    buf_add_str(&text, buf_str(script));
    buf_addf(&text, "\nCOMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _prog prog '%s' '%s'\n", line, word,
             before);
    buf_add_text(&text, "echo \"${COMPREPLY[@]}\"\n");
    assert_int_equal(judge("bash -u", &text, said, sizeof(said)), 0);
    assert_string_equal(said, expected);
}

TEST(the_completion_completes)
{
    SCOPED(buf_release) struct buf text = {0};
    char said[2000];
    opts_completion(&program, &text);
    if (judge("command -v bash", NULL, said, sizeof(said)) != 0)
        skip();
    assert_int_equal(judge("bash -n", &text, said, sizeof(said)), 0);
    assert_string_equal(said, "");
    expect_completion(&text, "prog e", "prog", "e", "extract\n");
    expect_completion(&text, "prog build --m", "build", "--m", "--memory --mask-prob\n");
    expect_completion(&text, "prog extract --fo", "extract", "--fo", "--format\n");
    expect_completion(&text, "prog build --pairs n", "--pairs", "n", "nsp none\n");
    expect_completion(&text, "prog build --wiki x", "--wiki", "x", "\n"); /* file names: left to bash */
}

/* zsh and fish, where installed, accept the scripts without a message; fish also completes. */
TEST(the_other_completions_are_valid)
{
    SCOPED(buf_release) struct buf text = {0};
    char said[2000];
    opts_completion_zsh(&program, &text);
    assert_non_null(strstr(buf_text(&text), "#compdef prog\n"));
    assert_non_null(strstr(buf_text(&text), "'*--pairs=["));
    if (judge("command -v zsh", NULL, said, sizeof(said)) == 0) {
        assert_int_equal(judge("zsh -n", &text, said, sizeof(said)), 0);
        assert_string_equal(said, "");
    }
    buf_reset(&text);
    opts_completion_fish(&program, &text);
    assert_non_null(strstr(buf_text(&text), "complete -c prog -n '__prog_verb build' -l pairs -x -a 'nsp"));
    if (judge("command -v fish", NULL, said, sizeof(said)) == 0) {
        buf_add_text(&text, "complete -C 'prog e'\ncomplete -C 'prog build --pairs n'\n");
        assert_int_equal(judge("HOME=/tmp fish --private", &text, said, sizeof(said)), 0);
        assert_non_null(strstr(said, "extract\t"));
        assert_non_null(strstr(said, "nsp\t"));
        assert_null(strstr(said, "sop\t"));
    }
}

/* Reads JSON into an option of the table above; returns what its field then is, or what the value is not. */
static const char *by_json(struct run *run, const char *option, const char *json)
{
    static char text[OPT_WANTED_BYTES];
    const struct opt_row *row = rows;
    while (strcmp(row->name, option) != 0)
        row++;
    json_auto_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    assert_non_null(value);
    if (opts_set_json(row, value, &run->settings, text)) {
        json_auto_t *options = opts_json(&program, &verbs[1], &run->settings);
        snprintf(text, sizeof text, "%s", json_string_value(json_object_get(options, option)));
    }
    return text;
}

TEST(a_key_sets_the_field_of_its_option)
{
    static const struct {
        const char *option, *json, *text;
    } cases[] = {
        {"cased", "true", "true"},
        {"cased", "false", "false"},
        {"cased", "1", "neither true nor false"},
        {"lr", "0.25", "0.25"},
        {"lr", "-1", "-1"},
        {"lr", "10", "1e+01"},
        {"lr", "10.5", "not a number from -1 to 10"},
        {"lr", "-1.5", "not a number from -1 to 10"},
        {"lr", "\"1\"", "not a number from -1 to 10"},
        {"lr", "null", "not a number from -1 to 10"},
        {"threads", "1", "1"},
        {"threads", "1024", "1024"},
        {"threads", "8.0", "8"},
        {"threads", "0", "not a count from 1 to 1024"},
        {"threads", "1025", "not a count from 1 to 1024"},
        {"threads", "1.5", "not a count from 1 to 1024"},
        {"mask-prob", "0.25", "0.25"},
        {"mask-prob", "0", "not a number above 0 and at most 1"},
        {"mask-prob", "[0.25, 0.5]", "not a number above 0 and at most 1"},
        {"share", "0.25", "0.25"},
        {"share", "[0.25, 0.5]", "0.25:0.5"},
        {"share", "[0.25]", "neither a number above 0 and at most 1, nor two, as [0.3, 0.15]"},
        {"share", "[0.25, 1.5]", "neither a number above 0 and at most 1, nor two, as [0.3, 0.15]"},
        {"pairs", "\"none\"", "none"},
        {"pairs", "\"nsp\"", "nsp"},
        {"pairs", "\"\"", "neither \"nsp\" nor \"none\""},
        {"pairs", "0", "neither \"nsp\" nor \"none\""},
        {"shape", "\"cube\"", "cube"},
        {"shape", "\"Cube\"", "none of \"ball\", \"cube\", \"cone\""},
    };
    struct run run;
    split(&run, "extract FILE");
    assert_int_equal(opts_parse(&program, run.argc, run.argv, &run.settings, &run.result, &run.err), 0);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_string_equal(by_json(&run, cases[i].option, cases[i].json), cases[i].text);
    opts_release(&program, &run.settings, &run.result);
}
