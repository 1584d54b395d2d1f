/* The run of a directory: the same command continues it; another command gets an error that names the difference. */
#include "tests/shards/tiny.h"

#include "trainer/run/run.h"

static struct error *const err = &tiny_err;

static json_t *identity_of(const char *dataset, double lr)
{
    return json_pack("{s:s, s:f, s:i, s:i, s:b}", "dataset", dataset, "lr", lr, "layers", 2, "hidden", 8,
                     "next_sentence", 1);
}

/* Opens, records a start and closes. */
static enum run_kind visit(const char *directory, const json_t *identity, bool fresh, bool finish)
{
    struct run run;
    char *moved;
    assert_ok(run_open(&run, directory, identity, fresh, &moved, err));
    assert_int_equal(moved != NULL, fresh);
    const enum run_kind kind = run.kind;
    assert_ok(run_start(&run, 0, "fp32", json_pack("{s:s}", "device", "cpu"), json_object(), err));
    if (finish)
        assert_ok(run_finish(&run, 7, "patience", err));
    mem_free(moved);
    run_close(&run);
    return kind;
}

TEST(the_name_is_of_what_the_run_is)
{
    json_t *a = identity_of("abc", 1e-4), *b = identity_of("abc", 2e-4);
    json_auto_t *c = json_pack("{s:b, s:i, s:i, s:f, s:s}", "next_sentence", 1, "layers", 2, "hidden", 8, "lr", 1e-4,
                               "dataset", "abc");
    SCOPED(mem_free_at)
    char *first = run_directory("base", 128, a), *second = run_directory("base", 128, b),
         *third = run_directory("base", 128, c);
    assert_int_equal(strlen(first), strlen("runs/base-128-5b81d4"));
    assert_memory_equal(first, "runs/base-128-", 14);
    assert_string_not_equal(first, second);
    assert_string_equal(first, third); /* for any order of keys */
    json_decref(a);
    json_decref(b);
}

TEST(new_resumed_finished)
{
    SCOPED(mem_free_at) char *directory = path_join(*state, "deep/run");
    json_auto_t *identity = identity_of("abc", 1e-4);
    assert_int_equal(visit(directory, identity, false, false), RUN_NEW);
    assert_int_equal(visit(directory, identity, false, true), RUN_RESUMED);
    assert_int_equal(visit(directory, identity, false, false), RUN_FINISHED);
    assert_int_equal(visit(directory, identity, true, false), RUN_NEW);
    assert_int_equal(visit(directory, identity, true, false), RUN_NEW);
    SCOPED(mem_free_at)
    char *first = path_join(*state, "deep/run.1/" RUN_NAME), *second = path_join(*state, "deep/run.2/" RUN_NAME);
    assert_true(path_exists(first) && path_exists(second));
}

TEST(another_run_is_refused_with_the_differences)
{
    struct run run;
    char *moved, *directory = path_join(*state, "other");
    json_t *identity = identity_of("abc", 1e-4), *another = identity_of("abc", 2e-4);
    visit(directory, identity, false, false);
    assert_fails(run_open(&run, directory, another, false, &moved, err), ERR_MISMATCH);
    run_close(&run);
    assert_non_null(strstr(tiny_err.text, "lr 0.0001 (now 0.0002)"));
    assert_null(strstr(tiny_err.text, "layers"));
    assert_int_equal(visit(directory, identity, false, false), RUN_RESUMED); /* the run is unchanged */
    mem_free(directory);
    json_decref(identity);
    json_decref(another);
}

TEST(what_is_no_run_is_left_alone)
{
    struct run run;
    char *moved, *directory = path_join(*state, "letters"), *file = path_join(*state, "letters/dear.txt");
    json_auto_t *identity = identity_of("abc", 1e-4);
    assert_ok(path_make_directory(directory, err));
    assert_ok(file_write_all(file, "x", 1, err));
    for (int fresh = 0; fresh < 2; fresh++) {
        assert_fails(run_open(&run, directory, identity, fresh, &moved, err), ERR_USAGE);
        run_close(&run);
    }
    assert_fails(run_open(&run, file, identity, false, &moved, err), ERR_USAGE);
    run_close(&run);
    struct buf text = tiny_read(*state, "letters/dear.txt");
    assert_int_equal(text.size, 1);
    buf_release(&text);
    tiny_write(*state, "letters/" RUN_NAME, "{\"identity\":1}", 14);
    assert_fails(run_open(&run, directory, identity, false, &moved, err), ERR_VERIFY);
    run_close(&run);
    mem_free(directory);
    mem_free(file);
}

TEST(one_process_at_a_time_and_no_trace_of_a_failed_start)
{
    struct run run, second;
    char *moved, *directory = path_join(*state, "locked");
    json_auto_t *identity = identity_of("abc", 1e-4);
    assert_ok(run_open(&run, directory, identity, false, &moved, err));
    assert_fails(run_open(&second, directory, identity, false, &moved, err), ERR_LOCKED);
    run_close(&second);
    assert_true(path_is_directory(directory));
    run_close(&run);
    assert_false(path_exists(directory)); /* no run was started */
    mem_free(directory);
}

TEST(seconds_of_a_save_read_back)
{
    struct run run;
    char *moved, *directory = path_join(*state, "seconds");
    json_auto_t *identity = identity_of("abc", 1e-4);
    assert_ok(run_open(&run, directory, identity, false, &moved, err));
    assert_ok(run_start(&run, 0, "fp32", json_object(), json_object(), err));
    for (uint64_t step = 1; step <= 300; step++)
        assert_ok(run_saved(&run, step, (double)step * 0.5, NULL, err));
    assert_ok(run_saved(&run, 290, 1000.25, json_pack("{s:[f, f]}", "loss", 7.5, 3.0),
                        err)); /* as if resumed from another step */
    run_close(&run);
    assert_ok(run_open(&run, directory, identity, false, &moved, err));
    assert_true(run_seconds(&run, 290) == 1000.25);
    assert_true(run_seconds(&run, 289) == 144.5);
    assert_true(json_real_value(json_array_get(json_object_get(run_since(&run, 290), "loss"), 0)) == 7.5);
    assert_true(!run_since(&run, 289) && !run_since(&run, 300));
    assert_true(run_seconds(&run, 300) == 0 && run_seconds(&run, 1) == 0);
    assert_string_equal(run_precision(&run), "fp32");
    run_close(&run);
    mem_free(directory);
}

TEST(an_unfinished_run_beside_this_one_is_named)
{
    SCOPED(buf_release) struct buf out = {0};
    SCOPED(mem_free_at) char *first = path_join(*state, "similar/first"), *second = path_join(*state, "similar/second");
    json_t *identity = identity_of("abc", 1e-4), *another = identity_of("abc", 2e-4),
           *foreign = identity_of("xyz", 1e-4);
    visit(first, another, false, false);
    run_similar(second, identity, &out);
    assert_int_equal(out.size, 0); /* it has no checkpoint yet */
    tiny_write(*state, "similar/first/latest", "step-00000007\n", 14);
    run_similar(second, identity, &out);
    assert_non_null(strstr(buf_text(&out), "first is unfinished at step-00000007"));
    assert_non_null(strstr(buf_text(&out), "lr 0.0002 (now 0.0001)"));
    buf_reset(&out);
    run_similar(second, foreign, &out);
    assert_int_equal(out.size, 0);
    run_similar(first, identity, &out); /* the run itself does not count */
    assert_int_equal(out.size, 0);
    run_similar("no/such/place", identity, &out);
    run_similar("nowhere", identity, &out);
    assert_int_equal(out.size, 0);
    json_decref(identity);
    json_decref(another);
    json_decref(foreign);
}

GROUP(tiny_enter, tiny_tear_down)
