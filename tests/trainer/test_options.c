/* Every option of the verbs that run in several processes must be the same in all of them, or stands here with the
 * reason why it may differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "trainer/options.h"

static const char *const may_differ[] = {
    /* what it names is compared by its contents, or is read or written by rank 0 alone */
    "shards", "data", "train", "dev", "logits", "out", "details", "dump-gradients", "tune",
    /* rank 0 does this alone, before the run or at its end */
    "force", "skip-damaged", "dry-run", "show", "timings", "json", "quiet", "verbose",
    /* each process has its own */
    "micro-batch", "cpu", "device", "threads", "processes", "gpus", "rank", "world-size", "rendezvous", "key", "bind",
    "share", "peer-timeout"};

static bool differs(const char *name)
{
    for (size_t i = 0; i < sizeof may_differ / sizeof *may_differ; i++)
        if (strcmp(may_differ[i], name) == 0)
            return true;
    return false;
}

static void every_option_is_decided(void **state)
{
    (void)state;
    static const char *const several[] = {"train", "squad", "glue", "eval", "verify"};
    const struct opt_program program = options_program();
    size_t same = 0;
    for (const struct opt_row *row = program.rows; row->name; row++) {
        bool takes = false;
        for (size_t i = 0; i < sizeof several / sizeof *several; i++)
            takes |= opt_row_is_for(row, &(struct opt_verb){.name = several[i]});
        same += takes && row->same_in_all;
        if (takes && row->same_in_all == differs(row->name))
            fail_msg("--%s: %s", row->name,
                     row->same_in_all ? "is the same in all processes, and may not differ"
                                      : "must be the same in all processes (.same_in_all), or stand in this test");
        assert_true(strlen(row->name) + 3 < 32); /* process_group.c has room for it */
    }
    assert_true(same > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_option_is_decided)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
